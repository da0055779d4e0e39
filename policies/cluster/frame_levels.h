// SPDX-License-Identifier: Apache-2.0
// Classifies a frame of the display by the number of refreshes that it came late. Context: any; pure.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace lagwatch::policies {

// Indexes of persisted arrays: do not renumber.
enum class FrameLevel : uint8_t { kBest = 0, kNormal = 1, kMiddle = 2, kHigh = 3, kFrozen = 4 };
inline constexpr size_t kFrameLevels = 5;

// The stages of a frame. Indexes of persisted arrays, and part of the C ABI: do not renumber.
enum class FrameStage : uint8_t {
  kOther = 0,
  kInput = 1,
  kAnimation = 2,
  kLayout = 3,
  kDraw = 4,
  kSubmit = 5
};
inline constexpr size_t kFrameStages = 6;

// "best", "normal", "middle", "high", "frozen".
const char* FrameLevelName(FrameLevel level);
// "other", "input", "animation", "layout", "draw", "submit".
const char* FrameStageName(FrameStage stage);

// The number of refreshes missed by a frame that was ready `late_ns` after the refresh that it was made for:
// none if that is less than an interval.
inline uint64_t DroppedFrames(int64_t late_ns, int64_t refresh_interval_ns) {
  return late_ns <= 0 || refresh_interval_ns <= 0 ? 0 : static_cast<uint64_t>(late_ns / refresh_interval_ns);
}

// Fewer than 3 dropped frames are best, fewer than 9 normal, 24 middle, 42 high; more are frozen.
inline FrameLevel FrameLevelOf(uint64_t dropped) {
  if (dropped < 3) return FrameLevel::kBest;
  if (dropped < 9) return FrameLevel::kNormal;
  if (dropped < 24) return FrameLevel::kMiddle;
  return dropped < 42 ? FrameLevel::kHigh : FrameLevel::kFrozen;
}

// Sums over frames.
struct FrameTotals {
  uint64_t frames = 0;
  uint64_t dropped = 0;
  std::array<uint64_t, kFrameLevels> by_level{};     // frames of each level
  std::array<uint64_t, kFrameStages> by_stage_ns{};  // time spent in each stage; together, in frames

  FrameTotals& operator+=(const FrameTotals& other);
  // The difference from `before`, an earlier state of the same sums.
  FrameTotals Since(const FrameTotals& before) const;
};

}  // namespace lagwatch::policies
