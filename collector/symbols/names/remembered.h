// SPDX-License-Identifier: Apache-2.0
// Caches the results of functions of names: reports of one program have the same few thousand names. Context:
// background; thread-safe, since each thread has a cache of its own.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <utility>

namespace lagwatch::collector {

// Caches the results of `kFunction`, which is pure. Valid until this thread's next call.
template <std::string (*kFunction)(std::string_view)>
const std::string& Remembered(std::string_view name) {
  constexpr size_t kMostBytes = 4 << 20;  // per thread; then it is emptied
  constexpr size_t kNodeBytes = 128;
  // In order: a hash would let a hostile report choose names that collide.
  thread_local std::map<std::string, std::string, std::less<>> known;
  thread_local size_t bytes = 0;

  if (const auto found = known.find(name); found != known.end()) return found->second;
  std::string made = kFunction(name);
  bytes += kNodeBytes + name.size() + made.size();
  if (bytes > kMostBytes) {
    known.clear();
    bytes = kNodeBytes + name.size() + made.size();
  }
  return known.emplace(name, std::move(made)).first->second;
}

}  // namespace lagwatch::collector
