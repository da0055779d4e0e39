// SPDX-License-Identifier: Apache-2.0
// Classifies a frame of the display by the number of refreshes that it came late, and estimates the interval
// between these. Context: any; pure.
#pragma once

#include <algorithm>
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

// Estimates a display's refresh interval from the times of the refreshes that frames were made for. Context:
// hot.
//
// A program that is late leaves refreshes out, so differences are multiples of the interval; their lower
// quartile is the interval itself as long as one frame in four is on time, and single jitter does not touch
// it. A program that never makes more than every second frame looks like a display of half the rate.
class RefreshInterval {
 public:
  static constexpr int64_t kDefaultNs = 16'666'667;     // 60 Hz, while nothing is known
  static constexpr int64_t kShortestNs = 1'000'000;     // 1000 Hz
  static constexpr int64_t kLongestNs = 1'000'000'000;  // 1 Hz

  // The time of the refresh that the next frame is for. Every 8th call sorts 32 numbers.
  void Add(int64_t vsync_ns) {
    int64_t difference_ns = vsync_ns - last_vsync_ns_;
    bool is_first = last_vsync_ns_ == 0;
    last_vsync_ns_ = vsync_ns;
    // A longer one is a pause, not a rate.
    if (is_first || difference_ns < kShortestNs || difference_ns > kLongestNs) return;
    differences_ns_[count_++ % kKept] = difference_ns;
    if (count_ % kPerEstimate == 0) Estimate();
  }
  // kDefaultNs until 8 differences are known.
  int64_t interval_ns() const { return interval_ns_; }

 private:
  static constexpr size_t kKept = 32;
  static constexpr size_t kPerEstimate = 8;

  void Estimate() {
    size_t known = std::min(count_, kKept);
    std::array<int64_t, kKept> sorted_ns = differences_ns_;
    auto quartile = sorted_ns.begin() + static_cast<std::ptrdiff_t>(known / 4);
    std::nth_element(sorted_ns.begin(), quartile, sorted_ns.begin() + static_cast<std::ptrdiff_t>(known));
    interval_ns_ = *quartile;
  }

  int64_t last_vsync_ns_ = 0;
  size_t count_ = 0;
  int64_t interval_ns_ = kDefaultNs;
  std::array<int64_t, kKept> differences_ns_{};
};

}  // namespace lagwatch::policies
