// SPDX-License-Identifier: Apache-2.0
// Turns what a database throws into a Status: the boundary between a store and its database's code.
// Context: background.
#pragma once

#include <string>
#include <type_traits>

#include "base/status.h"
#include "collector/store/query_limit.h"

namespace lagwatch::collector {

// A Result, or a Status of what returns nothing.
template <typename Value>
using ResultOf = std::conditional_t<std::is_void_v<Value>, Status, Result<Value>>;

// Returns what `work` does; what it throws of `Error` becomes kUnavailable, `prefix` before its text. The
// thread's limit applies.
template <typename Error, typename Work>
auto GuardedFrom(const char* prefix, Work work) -> ResultOf<decltype(work())> {
  const QueryLimit* limit = QueryLimit::OfThisThread();
  if (limit != nullptr && limit->IsOver()) return limit->ToStatus();
  try {
    if constexpr (std::is_void_v<decltype(work())>) {
      work();
      return Status();
    } else {
      return work();
    }
  } catch (const Error& error) {
    if (limit != nullptr && limit->IsOver()) return limit->ToStatus();
    return Status(StatusCode::kUnavailable, std::string(prefix) + error.what());
  }
}

}  // namespace lagwatch::collector
