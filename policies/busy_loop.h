// SPDX-License-Identifier: Apache-2.0
// Detects a loop that is busy without a pause: one short dispatch after the other, and never a
// sleep in between.
//
// A busy period goes on from one look to the next as long as
// - the thread has not gone to sleep: no voluntary context switch, and it ran, or was ready to, for 95 % of
//   the period; or it slept only as a busy thread does, too, when it waits for a page or a lock: it ran, or
//   was ready to, for 99.5 %, and between two looks never slept longer than 0.5 % of the threshold;
// - dispatches keep ending and beginning: a quarter of the threshold does not pass without a new one, and
//   over the period there are ten or more for each threshold's length. So one long dispatch does not count.
// A loop that sleeps in its wait for more than that, even once, is not busy in this sense.
// Context: watchdog; pure.
#pragma once

#include <cstdint>

namespace lagwatch::policies {

// The activity of a loop's thread at one moment; all counts begin at an arbitrary value.
struct LoopActivity {
  int64_t now_ns;
  uint64_t dispatches;         // begun so far
  int64_t runnable_ns;         // on a processor or ready for one
  int64_t voluntary_switches;  // how often it went to sleep
};

class BusyLoop {
 public:
  // To be called first at each look; looks are no more than half a threshold apart. True when the activity is
  // worth reading, which costs more: a period is under way, or as many dispatches began since the last look.
  bool IsWorthReading(int64_t now_ns, uint64_t dispatches, int64_t threshold_ns) {
    uint64_t new_dispatches = dispatches - last_dispatches_;
    is_many_ = new_dispatches != 0 && IsMany(new_dispatches, now_ns - last_ns_, threshold_ns);
    if (new_dispatches != 0) last_new_ns_ = now_ns;
    last_ns_ = now_ns;
    last_dispatches_ = dispatches;
    return is_many_ || number_ != 0;
  }
  // Goes on with the period under way, ends it, or begins a new one.
  void Observe(const LoopActivity& activity, int64_t threshold_ns) {
    if (number_ == 0 || !GoesOn(activity, threshold_ns)) {
      number_ = is_many_ ? ++numbers_ : 0;
      begin_ = activity;
    }
    last_ = activity;
    dispatches_ = activity.dispatches - begin_.dispatches;
  }
  // The activity cannot be read.
  void Rest() { number_ = 0; }

  // Identifies this period; 0 without one.
  uint64_t number() const { return number_; }
  int64_t begin_ns() const { return begin_.now_ns; }
  // Begun within the period, at the last look.
  uint64_t dispatches() const { return dispatches_; }

 private:
  static constexpr int64_t kManyPerThreshold = 10;
  static constexpr int64_t kRunnablePercent = 95;
  static constexpr int64_t kAsleepPermille = 5;
  // The kernel counts a wait for a processor only when it is over.
  static constexpr int64_t kUncountedNs = 10'000'000;

  static bool IsMany(uint64_t dispatches, int64_t time_ns, int64_t threshold_ns) {
    return static_cast<double>(dispatches) * static_cast<double>(threshold_ns) >=
           static_cast<double>(kManyPerThreshold) * static_cast<double>(time_ns);
  }
  bool GoesOn(const LoopActivity& now, int64_t threshold_ns) const {
    int64_t age_ns = now.now_ns - begin_.now_ns;
    const int64_t runnable_ns = now.runnable_ns - begin_.runnable_ns;
    const bool has_slept = now.voluntary_switches != begin_.voluntary_switches;
    if (has_slept && runnable_ns < age_ns / 1000 * (1000 - kAsleepPermille)) return false;
    const int64_t asleep_ns = (now.now_ns - last_.now_ns) - (now.runnable_ns - last_.runnable_ns);
    if (now.voluntary_switches != last_.voluntary_switches &&
        asleep_ns > threshold_ns / 1000 * kAsleepPermille)
      return false;
    if (runnable_ns + kUncountedNs < age_ns / 100 * kRunnablePercent) return false;
    if (now.now_ns - last_new_ns_ >= threshold_ns / 4) return false;
    // Of a period's beginning too few may have been seen yet.
    return age_ns < threshold_ns / 2 || IsMany(now.dispatches - begin_.dispatches, age_ns, threshold_ns);
  }

  int64_t last_ns_ = 0;
  uint64_t last_dispatches_ = 0;
  int64_t last_new_ns_ = 0;  // a look that found new ones
  bool is_many_ = false;
  LoopActivity begin_{};
  LoopActivity last_{};  // at the look before
  uint64_t dispatches_ = 0;
  uint64_t number_ = 0;
  uint64_t numbers_ = 0;
};

}  // namespace lagwatch::policies
