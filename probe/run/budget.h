// SPDX-License-Identifier: Apache-2.0
// Decides how many hits of a thread are run, from what the last ones took: all; one in 2^shift; none for the
// rest of the window. If the mechanism alone takes more than the budget, one in 2^shift for a second, so that
// something is learned, and then none any more. In whole numbers, since hits run it. Context: any.
#pragma once

#include <algorithm>
#include <cstdint>

#include "probe/program.h"

namespace lagwatch::probe {

// The decision for the hits to come. As a number, 0 is "run all".
struct BudgetState {
  uint8_t shift = 0;          // one hit in 2^shift is run, and counts for the others; none at kMostShift
  uint8_t strikes = 0;        // windows in a row in which the mechanism alone took too much
  bool is_exhausted = false;  // no hit is run until the window's end
  bool is_off = false;

  uint64_t ToNumber() const {
    return uint64_t{shift} | uint64_t{strikes} << 8 | uint64_t{is_exhausted} << 16 | uint64_t{is_off} << 17;
  }
  static BudgetState FromNumber(uint64_t number) {
    return {.shift = static_cast<uint8_t>(number & 63),
            .strikes = static_cast<uint8_t>(number >> 8),
            .is_exhausted = (number >> 16 & 1) != 0,
            .is_off = (number >> 17 & 1) != 0};
  }
};

inline constexpr uint8_t kMostShift = 20;

// Whether hits are left out without others' counting for them. One of 2^kMostShift would count for so many
// that a single one made the numbers wrong.
inline bool LosesHits(const BudgetState& state) { return state.is_exhausted || state.shift >= kMostShift; }

// The present window so far.
struct BudgetWindow {
  uint64_t elapsed_ticks = 0;
  uint64_t hits = 0;
  uint64_t runs = 0;
  uint64_t run_ticks = 0;        // of one run
  uint64_t mechanism_ticks = 0;  // of one hit, besides
  uint64_t ticks_per_second = 1;
};

inline constexpr uint64_t kWindowsPerSecond = 10;
inline constexpr uint8_t kMostStrikes = 10;
inline constexpr uint64_t kHitsPerCheck = 64;  // the clock is read once in so many hits

inline bool IsWindowOver(const BudgetWindow& window) {
  return window.elapsed_ticks >= window.ticks_per_second / kWindowsPerSecond;
}

// The state from now on. The caller begins a new window if IsWindowOver().
inline BudgetState Decide(BudgetState state, const Budget& budget, const BudgetWindow& window) {
  constexpr uint64_t kMostTicks = uint64_t{1} << 38;  // a minute: of more the products below would overflow
  const uint64_t window_ticks =
      std::clamp(window.elapsed_ticks, window.ticks_per_second / kWindowsPerSecond, kMostTicks);
  const uint64_t allowed_ticks = window_ticks * budget.share_ppm / 1'000'000;
  const uint64_t allowed_runs = window_ticks * budget.hits_per_second / window.ticks_per_second;
  const uint64_t fixed_ticks = window.hits * window.mechanism_ticks;
  // The mechanism takes its time whether hits are run or not: without what it alone exceeds, for a second.
  const auto taken_ticks = [&](uint64_t runs, bool is_too_often) {
    return runs * window.run_ticks + (is_too_often ? 0 : fixed_ticks);
  };
  if (!IsWindowOver(window)) {
    state.is_exhausted |=
        taken_ticks(window.runs, state.strikes != 0) > allowed_ticks || window.runs > allowed_runs;
    return state;
  }
  state.is_exhausted = false;
  const bool is_too_often = fixed_ticks >= allowed_ticks && window.mechanism_ticks > 0;
  state.strikes = is_too_often ? state.strikes + 1 : 0;
  state.is_off |= state.strikes >= kMostStrikes;
  uint8_t shift = 0;  // the least with which this window's hits would have been within the budget
  while (shift < kMostShift && ((window.hits >> shift) > allowed_runs ||
                                taken_ticks(window.hits >> shift, is_too_often) > allowed_ticks)) {
    ++shift;
  }
  const bool is_at_once = shift >= state.shift || state.shift == kMostShift;
  state.shift = is_at_once ? shift : static_cast<uint8_t>(state.shift - 1);
  return state;
}

}  // namespace lagwatch::probe
