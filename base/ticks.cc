// SPDX-License-Identifier: Apache-2.0
#include "base/ticks.h"

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

}  // namespace lagwatch::base
