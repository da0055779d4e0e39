// SPDX-License-Identifier: Apache-2.0
// Schedules the looks at a loop, before a hang and while one goes on. Context: watchdog; pure.
#pragma once

#include <algorithm>
#include <cstdint>

namespace lagwatch::policies {

// The looks before a hang: never before one can matter. A dispatch that ends before its sampling window opens
// is not disturbed at all.
struct CheckSchedule {
  int64_t threshold_ns;        // a dispatch longer than this is a hang
  int64_t sample_interval_ns;  // between two stack samples inside the window, at most
  int32_t ring_size;           // samples that a check looks at

  // Samples that no check could still find in the ring are not taken, and at least half of the
  // threshold stays undisturbed.
  int64_t window_ns() const { return std::min(sample_interval_ns * ring_size, threshold_ns / 2); }

  // The time between two samples: a short window has as many as a long one, down to 10 ms. Of five samples
  // the smaller of two shares is often the greater one.
  int64_t interval_ns() const {
    constexpr int64_t kShortestNs = 10'000'000;
    return std::min(std::max(window_ns() / ring_size, kShortestNs), sample_interval_ns);
  }

  // The time between two samples of a hang that has lasted so long: enough for its shares to differ from
  // chance, and a ring that is of the last seconds.
  static int64_t HangIntervalNs(int64_t elapsed_ns) {
    constexpr int64_t kSamplesOfHang = 64;
    constexpr int64_t kLongestNs = 1'000'000'000;
    return std::min(elapsed_ns / kSamplesOfHang, kLongestNs);
  }

  // The longest sleep of a watchdog while the loop is idle: a dispatch that starts right now needs its first
  // sample no earlier than that.
  int64_t idle_sleep_ns() const { return threshold_ns - window_ns(); }

  // When the samples for a check at `check_ns` begin.
  int64_t WindowStartNs(int64_t check_ns) const { return check_ns - window_ns(); }
};

// The interval until a hang that goes on with an unchanged stack is looked at again: longer each time.
// The interval grows as Fibonacci numbers times the check period (1, 1, 2, 3, 5, 8 …), as Matrix's iOS
// monitor does, but with a cap.
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
