// SPDX-License-Identifier: Apache-2.0
// At most one of something in a time.
#pragma once

#include <atomic>
#include <cstdint>

namespace lagwatch::policies {

// Thread safety: all methods from any thread; of several at once, one passes. Context: any, signal included.
class RateLimit {
 public:
  void SetInterval(int64_t interval_ns) { interval_ns_.store(interval_ns, std::memory_order_relaxed); }
  // True when the last one that passed was an interval ago or longer.
  bool TryPass(int64_t now_ns) {
    int64_t last_ns = last_ns_.load(std::memory_order_relaxed);
    if (last_ns != kNever && now_ns - last_ns < interval_ns_.load(std::memory_order_relaxed)) return false;
    return last_ns_.compare_exchange_strong(last_ns, now_ns, std::memory_order_relaxed);
  }

 private:
  static constexpr int64_t kNever = INT64_MIN;
  static_assert(std::atomic<int64_t>::is_always_lock_free, "not signal-safe");

  std::atomic<int64_t> interval_ns_{0};
  std::atomic<int64_t> last_ns_{kNever};
};

}  // namespace lagwatch::policies
