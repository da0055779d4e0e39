// SPDX-License-Identifier: Apache-2.0
// The interval until a hang that goes on with an unchanged stack is looked at again: longer each time.
// The interval grows as Fibonacci numbers times the check period (1, 1, 2, 3, 5, 8 …), as Matrix's iOS
// monitor does, but with a cap. Context: watchdog; pure.
#pragma once

#include <algorithm>
#include <cstdint>

namespace lagwatch::policies {

class RecheckInterval {
 public:
  // `period_ns` > 0 is the first interval; no interval is longer than `cap_ns`.
  RecheckInterval(int64_t period_ns, int64_t cap_ns) : period_ns_(period_ns), cap_ns_(cap_ns) {}

  // Back to the first interval: the loop recovered, or its stack changed.
  void Reset() {
    current_ = 1;
    next_ = 1;
  }

  // The time until the next check, after one that found the stack unchanged.
  int64_t NextIntervalNs() {
    int64_t interval_ns = std::min(period_ns_ * current_, cap_ns_);
    if (interval_ns < cap_ns_) {
      int64_t sum = current_ + next_;
      current_ = next_;
      next_ = sum;
    }
    return interval_ns;
  }

 private:
  int64_t period_ns_;
  int64_t cap_ns_;
  int64_t current_ = 1;
  int64_t next_ = 1;
};

}  // namespace lagwatch::policies
