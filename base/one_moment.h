// SPDX-License-Identifier: Apache-2.0
// Readings of several clocks and counters that are to be of one moment. A thread that loses its processor
// between two of them, which on a busy machine takes hundreds of milliseconds, compares clocks of different
// times.
#pragma once

#include <cstdint>

#include "base/clock.h"

namespace lagwatch::base {

// A reading was made between these (CLOCK_MONOTONIC).
struct Bracket {
  int64_t begin_ns = 0;
  int64_t end_ns = 0;
};

// Calls `read` until it was over within a millisecond, four times at most: the last one's values count.
// Context: watchdog.
template <typename Read>
Bracket ReadAtOneMoment(const Clock& clock, Read read) {
  constexpr int kTries = 4;
  Bracket bracket;
  for (int i = 0; i < kTries; ++i) {
    bracket.begin_ns = clock.MonoNs();
    read();
    bracket.end_ns = clock.MonoNs();
    if (bracket.end_ns - bracket.begin_ns < kNsPerMs) break;
  }
  return bracket;
}

}  // namespace lagwatch::base
