// SPDX-License-Identifier: Apache-2.0
#include "watchdog/loops/loop_limits.h"

#include <algorithm>

namespace lagwatch::watchdog {
namespace {

constexpr unsigned kHalf = 32;

uint64_t ToMs(int64_t ns) { return static_cast<uint64_t>(ns / base::kNsPerMs); }
int64_t ToNs(uint64_t ms) { return static_cast<int64_t>(ms) * base::kNsPerMs; }

}  // namespace

Thresholds Thresholds::InRange() const {
  Thresholds normal;
  normal.threshold_ns = std::clamp(threshold_ns, kShortestNs, kLongestNs);
  if (anr_threshold_ns != 0)
    normal.anr_threshold_ns = std::clamp(anr_threshold_ns, normal.threshold_ns, kLongestNs);
  return normal;
}

Thresholds LoopLimits::SetThresholds(const Thresholds& wanted) {
  const Thresholds normal = wanted.InRange();
  thresholds_ms_.store(ToMs(normal.anr_threshold_ns) << kHalf | ToMs(normal.threshold_ns));
  return normal;
}

Thresholds LoopLimits::ThresholdsOr(const Thresholds& others) const {
  uint64_t ms = thresholds_ms_.load();
  if (ms == 0) return others;
  return {.threshold_ns = ToNs(ms & UINT32_MAX), .anr_threshold_ns = ToNs(ms >> kHalf)};
}

void LoopLimits::Reset() {
  thresholds_ms_.store(0);
  weight_.store(0);
}

}  // namespace lagwatch::watchdog
