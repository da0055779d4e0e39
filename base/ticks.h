// SPDX-License-Identifier: Apache-2.0
// The processor's tick counter: the cheapest time stamp there is, for the hot path.
// Ticks are converted to nanoseconds only on the watchdog thread, by a TickScale measured there.
#pragma once

#include <cstdint>
#if defined(__x86_64__)
#include <x86intrin.h>
#endif

#include "base/clock.h"

namespace lagwatch::base {

// Context: hot, signal. About 20 cycles natively; not a serializing read.
inline uint64_t ReadTicks() {
#if defined(__x86_64__)
  return __rdtsc();
#elif defined(__aarch64__)
  uint64_t ticks;
  asm volatile("mrs %0, cntvct_el0" : "=r"(ticks));
  return ticks;
#else
#error "lagwatch runs on x86-64 and arm64"
#endif
}

// The same moment on both clocks.
struct TickPair {
  uint64_t ticks;
  int64_t mono_ns;
};

// Reads both clocks as closely together as a preemptible thread can: the closest of a few
// tries. Context: watchdog.
TickPair ReadTickPair(const Clock& clock);

// The length of a tick, measured over the last seconds: after one second, better than 1 in 10^5. Thread
// safety: one thread's own (the watchdog's).
class TickScale {
 public:
  void Anchor(TickPair pair) { anchor_ = pair; }
  // Measures again with a later pair. An interval in which one clock ran without the other (the machine
  // slept) is left out.
  void Update(TickPair pair);
  bool is_known() const { return ns_per_tick_ > 0; }
  int64_t ToNs(uint64_t tick_count) const {
    return static_cast<int64_t>(static_cast<double>(tick_count) * ns_per_tick_);
  }
  uint64_t ToTicks(int64_t ns) const { return static_cast<uint64_t>(static_cast<double>(ns) / ns_per_tick_); }

 private:
  TickPair anchor_{};
  double ns_per_tick_ = 0;
};

}  // namespace lagwatch::base
