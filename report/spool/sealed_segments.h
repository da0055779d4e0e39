// SPDX-License-Identifier: Apache-2.0
// The segments that a writer has sealed, for making room while they are not sent. Context: watchdog; the
// construction: background (allocates everything in advance).
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <tuple>

#include "policies/upload/report_priority.h"

namespace lagwatch::report {

struct SealedSegment {
  uint32_t sequence;
  uint32_t size_bytes;
  uint32_t reports;
  policies::ReportPriority priority;  // of its most important record
};

class SealedSegments {
 public:
  static constexpr size_t kMaxSegments = 8192;

  explicit SealedSegments(uint64_t limit_bytes)
      : limit_bytes_(limit_bytes), segments_(new SealedSegment[kMaxSegments]) {}

  // Not to be called while it is_full().
  void Add(const SealedSegment& segment) {
    segments_[count_++] = segment;
    total_bytes_ += segment.size_bytes;
  }
  bool is_full() const { return total_bytes_ > limit_bytes_ || count_ == kMaxSegments; }

  // Forgets those that `is_gone`, then removes the least important, oldest first, until an eighth is free.
  template <typename IsGone, typename Remove>
  void MakeRoom(IsGone is_gone, Remove remove) {
    count_ = static_cast<size_t>(std::remove_if(begin(), end(), is_gone) - begin());
    total_bytes_ = 0;
    for (const SealedSegment& segment : *this) total_bytes_ += segment.size_bytes;
    std::sort(begin(), end(), [](const SealedSegment& a, const SealedSegment& b) {
      return std::tuple(a.priority, a.sequence) < std::tuple(b.priority, b.sequence);
    });
    size_t removed = 0;
    for (; removed < count_ && !HasRoom(count_ - removed); ++removed) {
      total_bytes_ -= segments_[removed].size_bytes;
      remove(segments_[removed]);
    }
    std::copy(begin() + removed, end(), begin());
    count_ -= removed;
  }

 private:
  SealedSegment* begin() { return segments_.get(); }
  SealedSegment* end() { return segments_.get() + count_; }
  bool HasRoom(size_t count) const {
    return total_bytes_ <= limit_bytes_ / 8 * 7 && count <= kMaxSegments / 8 * 7;
  }

  uint64_t limit_bytes_;
  std::unique_ptr<SealedSegment[]> segments_;
  size_t count_ = 0;
  uint64_t total_bytes_ = 0;
};

}  // namespace lagwatch::report
