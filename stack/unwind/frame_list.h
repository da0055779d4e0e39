// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>

#include "stack/frames/stack.h"

namespace lagwatch::stack {

// Collects a walk's frames into a stack. When there are more than fit, the innermost and the outermost stay,
// and the stack says how many are left out between them. Context: watchdog; not thread-safe.
class FrameList {
 public:
  void Begin(Stack* stack) {
    stack_ = stack;
    count_ = 0;
  }
  // The place for the next frame.
  Frame* Add() {
    uint64_t i = count_++;
    return i < kInnermost ? &stack_->frames[i] : &outermost_[(i - kInnermost) % kOutermost];
  }
  uint64_t count() const { return count_; }
  // Only to counts up to kInnermost, which are never overwritten.
  void RewindTo(uint64_t count) { count_ = count; }
  // The frame added last; there must be one.
  const Frame& last() const {
    uint64_t i = count_ - 1;
    return i < kInnermost ? stack_->frames[i] : outermost_[(i - kInnermost) % kOutermost];
  }

  void Finish() {
    uint64_t outer = count_ > kInnermost ? count_ - kInnermost : 0;
    uint64_t kept = std::min<uint64_t>(outer, kOutermost);
    for (uint64_t i = 0; i < kept; ++i) {
      stack_->frames[kInnermost + i] = outermost_[(outer - kept + i) % kOutermost];
    }
    stack_->frame_count = static_cast<uint32_t>(count_ - outer + kept);
    stack_->gap_at = outer > kept ? kInnermost : 0;
    stack_->gap_frame_count = outer - kept;
    stack_->task = 0;
  }

  static constexpr uint32_t kInnermost = kMaxFrames * 3 / 4;

 private:
  static constexpr uint32_t kOutermost = kMaxFrames - kInnermost;

  Stack* stack_ = nullptr;
  uint64_t count_ = 0;
  Frame outermost_[kOutermost]{};  // a ring
};

}  // namespace lagwatch::stack
