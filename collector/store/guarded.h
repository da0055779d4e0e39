// SPDX-License-Identifier: Apache-2.0
// Turns what a database throws into a Status: the boundary between a store and its database's code.
// Context: background.
#pragma once

#include <string>

#include "base/status.h"
#include "collector/store/query_limit.h"

namespace lagwatch::collector {

// Returns what `work` does; what it throws of `Error` becomes kUnavailable, `prefix` before its text. The
// thread's limit applies.
template <typename Error, typename Work>
auto GuardedFrom(const char* prefix, Work work) -> base::Result<decltype(work())> {
  const QueryLimit* limit = QueryLimit::OfThisThread();
  if (limit != nullptr && limit->IsOver()) return limit->ToStatus();
  try {
    return work();
  } catch (const Error& error) {
    if (limit != nullptr && limit->IsOver()) return limit->ToStatus();
    return base::Status(base::StatusCode::kUnavailable, std::string(prefix) + error.what());
  }
}

}  // namespace lagwatch::collector
