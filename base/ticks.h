// SPDX-License-Identifier: Apache-2.0
// The processor's tick counter: the cheapest time stamp there is, for the hot path.
// Ticks are converted to nanoseconds only on the watchdog thread, by a TickScale measured there.
#pragma once

#include <atomic>
#include <cstdint>
#if defined(__x86_64__)
#include <x86intrin.h>
#endif

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

// How long a tick is. The longer ago the anchor, the more exact: after one second, better than 1 in 10^6.
// Thread safety: written by one thread (the watchdog's); not shared.
class TickScale {
 public:
  // Sets the anchor: `ticks` were read at `mono_ns`.
  void Anchor(uint64_t ticks, int64_t mono_ns) {
    anchor_ticks_ = ticks;
    anchor_mono_ns_ = mono_ns;
  }
  // Measures again with a later pair of readings.
  void Update(uint64_t ticks, int64_t mono_ns) {
    if (ticks > anchor_ticks_ && mono_ns > anchor_mono_ns_) {
      ns_per_tick_ =
          static_cast<double>(mono_ns - anchor_mono_ns_) / static_cast<double>(ticks - anchor_ticks_);
    }
  }
  bool is_known() const { return ns_per_tick_ > 0; }
  int64_t ToNs(uint64_t tick_count) const {
    return static_cast<int64_t>(static_cast<double>(tick_count) * ns_per_tick_);
  }
  uint64_t ToTicks(int64_t ns) const {
    return static_cast<uint64_t>(static_cast<double>(ns) / ns_per_tick_);
  }

 private:
  uint64_t anchor_ticks_ = 0;
  int64_t anchor_mono_ns_ = 0;
  double ns_per_tick_ = 0;
};

}  // namespace lagwatch::base
