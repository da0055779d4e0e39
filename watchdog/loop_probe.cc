// SPDX-License-Identifier: Apache-2.0
#include "watchdog/loop_probe.h"

namespace lagwatch::watchdog {

LoopProbe::Dispatch LoopProbe::Read() const {
  constexpr int kTries = 8;
  for (int i = 0; i < kTries; ++i) {
    Dispatch dispatch;
    // Acquire, each: it pairs with Begin's stores and keeps the loads in this order.
    dispatch.number = words_.begun.load(std::memory_order_acquire);
    dispatch.begin_ticks = words_.begin_ticks.load(std::memory_order_acquire);
    dispatch.tag = words_.tag.load(std::memory_order_acquire);
    if (words_.begun.load(std::memory_order_acquire) != dispatch.number) continue;
    if (IsStillIn(dispatch.number)) return dispatch;
    break;
  }
  return {0, 0, nullptr};
}

uint64_t LoopProbe::SlowDurationTicks(uint64_t number) const {
  // Acquire, each: it keeps the loads in this order. The number is zero while RecordSlow is between its
  // stores, so a duration never goes with another dispatch's number.
  if (slow_number_.load(std::memory_order_acquire) != number) return 0;
  uint64_t duration_ticks = slow_duration_ticks_.load(std::memory_order_acquire);
  return slow_number_.load(std::memory_order_acquire) == number ? duration_ticks : 0;
}

void LoopProbe::WakeWatchdog() {
  // Acquire: pairs with AskForWake.
  if (words_.is_watchdog_asleep.exchange(0, std::memory_order_acquire) != 0)
    watchdog_.load(std::memory_order_relaxed)->Wake();
}

void LoopProbe::Reset() {
  words_.nested = 0;
  words_.ended.store(words_.begun.load());
}

void LoopProbe::RecordSlow(uint64_t duration_ticks) {
  uint64_t number = words_.begun.load(std::memory_order_relaxed);  // only this thread writes it
  // Release, each: see SlowDurationTicks.
  slow_number_.store(0, std::memory_order_release);
  slow_duration_ticks_.store(duration_ticks, std::memory_order_release);
  slow_number_.store(number, std::memory_order_release);
}

}  // namespace lagwatch::watchdog
