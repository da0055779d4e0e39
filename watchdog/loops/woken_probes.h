// SPDX-License-Identifier: Apache-2.0
// The loops that have something for the watchdog to see. It does not look at loops that are idle: each adds
// itself here when its next dispatch begins.
#pragma once

#include <atomic>
#include <cstdint>

#include "base/process/sleeper.h"

namespace lagwatch::watchdog {

class LoopProbe;

// The probes that woke the watchdog.
//
// Thread safety: any thread adds, the watchdog takes all. Invariants:
// - A probe is in the list at most once: the thread that sets its `is_listed` adds it, and the watchdog
//   clears that after it has taken the probe out.
// - A probe that is added after SetNextLook() is seen by is_empty(), or wakes the watchdog by that date: both
//   sides store before they load, sequentially consistent.
class WokenProbes {
 public:
  // Borrowed: where the watchdog sleeps.
  explicit WokenProbes(base::Sleeper* watchdog) : watchdog_(watchdog) {}

  // Wakes the watchdog unless it is to look within `look_within_ns`; kAtOnce: always.
  // Context: hot. Lock-free.
  static constexpr int64_t kAtOnce = -1;
  void Add(LoopProbe* probe, int64_t look_within_ns);
  // The newest of all that were added, and then LoopProbe::TakeNextWoken(). Context: watchdog.
  LoopProbe* TakeAll() { return newest_.exchange(nullptr); }
  // In a forked child, whose only thread calls it before the probes are used: another thread may just have
  // been adding one. So do all probes' ForgetListed().
  void Reset() { newest_.store(nullptr); }
  bool is_empty() const { return newest_.load() == nullptr; }
  // Says when the watchdog looks next (CLOCK_MONOTONIC), whatever happens. Context: watchdog.
  void SetNextLook(int64_t mono_ns) {
    woken_ns_.store(0, std::memory_order_relaxed);  // published by the next store
    next_look_ns_.store(mono_ns);
  }
  // When the first probe since SetNextLook() woke the watchdog (CLOCK_MONOTONIC); 0: none did. From then on
  // the watchdog does not sleep by its own will. Context: watchdog.
  int64_t woken_ns() const { return woken_ns_.load(std::memory_order_relaxed); }

 private:
  base::Sleeper* watchdog_;
  std::atomic<LoopProbe*> newest_{nullptr};
  std::atomic<int64_t> next_look_ns_{0};
  std::atomic<int64_t> woken_ns_{0};
};

}  // namespace lagwatch::watchdog
