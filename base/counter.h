// SPDX-License-Identifier: Apache-2.0
// A number that one thread counts and any thread reads. Context: any, signal included.
#pragma once

#include <atomic>
#include <cstdint>

namespace lagwatch::base {

class Counter {
 public:
  // Relaxed throughout: a statistic orders nothing.
  void Add(uint64_t count = 1) { value_.fetch_add(count, std::memory_order_relaxed); }
  uint64_t value() const { return value_.load(std::memory_order_relaxed); }

 private:
  std::atomic<uint64_t> value_{0};
  static_assert(std::atomic<uint64_t>::is_always_lock_free, "not signal-safe");
};

}  // namespace lagwatch::base
