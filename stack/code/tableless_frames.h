// SPDX-License-Identifier: Apache-2.0
// The frames of a native stack that no unwind table describes: code made at run time, and an interpreter's
// assembly. Context: any (plain data).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace lagwatch::stack {

struct TablelessFrame {
  // In the stack before some of it was left out (Stack::gap_at); code made at run time has one for all
  // frames.
  uint64_t index;
  uint64_t program_counter;
  uint64_t frame_pointer;
};

// Innermost first, as many as fit.
class TablelessFrames {
 public:
  std::span<const TablelessFrame> view() const { return {frames_.data(), count_}; }
  void Clear() { count_ = 0; }
  void Add(const TablelessFrame& frame) {
    if (count_ < frames_.size()) frames_[count_++] = frame;
  }
  // Forgets those from stack index `index` on.
  void RewindTo(uint64_t index) {
    while (count_ != 0 && frames_[count_ - 1].index >= index) --count_;
  }

 private:
  std::array<TablelessFrame, 512> frames_;
  size_t count_ = 0;
};

}  // namespace lagwatch::stack
