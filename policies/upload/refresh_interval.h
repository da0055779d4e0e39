// SPDX-License-Identifier: Apache-2.0
// Estimates a display's refresh interval from the times of the refreshes that frames were made for.
// Context: hot; pure.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

namespace lagwatch::policies {

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
