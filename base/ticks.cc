// SPDX-License-Identifier: Apache-2.0
#include "base/ticks.h"

#include <cmath>

namespace lagwatch::base {

TickPair ReadTickPair(const Clock& clock) {
  constexpr int kTries = 5;
  TickPair closest{};
  uint64_t closest_gap = UINT64_MAX;
  for (int i = 0; i < kTries; ++i) {
    uint64_t before = ReadTicks();
    int64_t mono_ns = clock.MonoNs();
    uint64_t gap = ReadTicks() - before;
    if (gap >= closest_gap) continue;
    closest_gap = gap;
    closest = {before + gap / 2, mono_ns};
  }
  return closest;
}

void TickScale::Update(TickPair pair) {
  constexpr int64_t kLongestIntervalNs = 10 * kNsPerSecond;
  constexpr double kLargestDrift = 0.05;
  if (pair.ticks <= anchor_.ticks || pair.mono_ns <= anchor_.mono_ns) {
    if (is_known()) anchor_ = pair;  // the counter was reset
    return;
  }
  int64_t interval_ns = pair.mono_ns - anchor_.mono_ns;
  double ns_per_tick = static_cast<double>(interval_ns) / static_cast<double>(pair.ticks - anchor_.ticks);
  bool is_plausible = !is_known() || std::abs(ns_per_tick / ns_per_tick_ - 1) < kLargestDrift;
  if (is_plausible) ns_per_tick_ = ns_per_tick;
  if (!is_plausible || interval_ns > kLongestIntervalNs) anchor_ = pair;
}

}  // namespace lagwatch::base
