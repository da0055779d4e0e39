// SPDX-License-Identifier: Apache-2.0
// A token bucket: an amount that may be used and is refilled at a rate per second. It may be overdrawn, since
// the amount used is known only afterwards. Context: background; pure. Thread-compatible.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace lagwatch::collector {

class TokenBucket {
 public:
  // Full at first.
  TokenBucket(double capacity, double per_s, int64_t now_ns)
      : capacity_(capacity), per_s_(per_s), level_(capacity), at_ns_(now_ns) {}

  // Seconds until `amount` can be used, or as much as it ever holds; 0 when it can be now.
  int64_t WaitS(double amount, int64_t now_ns) {
    Fill(now_ns);
    const double missing = std::min(amount, capacity_) - level_;
    return missing <= 0 ? 0 : static_cast<int64_t>(std::ceil(missing / per_s_));
  }
  bool IsHalfFull(int64_t now_ns) {
    Fill(now_ns);
    return level_ * 2 >= capacity_;
  }
  bool IsFull(int64_t now_ns) {
    Fill(now_ns);
    return level_ >= capacity_;
  }
  // That can be used now; 0 when it is overdrawn.
  double Left(int64_t now_ns) {
    Fill(now_ns);
    return std::max(level_, 0.0);
  }
  void Use(double amount, int64_t now_ns) {
    Fill(now_ns);
    level_ -= amount;
  }

 private:
  void Fill(int64_t now_ns) {
    level_ = std::min(capacity_, level_ + static_cast<double>(now_ns - at_ns_) / 1e9 * per_s_);
    at_ns_ = now_ns;
  }

  double capacity_;
  double per_s_;
  double level_;
  int64_t at_ns_;
};

}  // namespace lagwatch::collector
