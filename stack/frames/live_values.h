// SPDX-License-Identifier: Apache-2.0
// The words that the functions of a stack still work with, apart from all that earlier calls have left there:
// callee-saved registers, as unwind tables find them, and the arguments that functions without optimization
// keep beside their frame pointers. Context: any (plain data).
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

namespace lagwatch::stack {

class LiveValues {
 public:
  // A frame of the walk; its function's code is [begin, end), or nothing if that is not known.
  struct Frame {
    uint64_t end_of_call;
    uint64_t stack_pointer;
    uint64_t frame_pointer;
    bool is_frame_pointer_known;
    uint64_t begin;
    uint64_t end;
  };

  void Clear() { frame_count_ = value_count_ = 0; }
  // The frame with that number, innermost first; those after it are forgotten, for a walk goes back.
  void SetFrame(uint64_t index, const Frame& frame) {
    if (index >= kMaxFrames) return;
    frames_[index] = frame;
    frame_count_ = index + 1;
  }
  void AddValue(uint64_t value) {
    constexpr uint64_t kFewest = 3;  // no descriptor of a program's own, and no address
    if (value >= kFewest && value_count_ < kMaxValues && !Has(value)) values_[value_count_++] = value;
  }
  bool Has(uint64_t value) const { return std::ranges::find(values(), value) != values().end(); }

  std::span<Frame> frames() { return {frames_, frame_count_}; }
  std::span<const Frame> frames() const { return {frames_, frame_count_}; }
  std::span<const uint64_t> values() const { return {values_, value_count_}; }

 private:
  static constexpr size_t kMaxFrames = 64;
  static constexpr size_t kMaxValues = 256;

  Frame frames_[kMaxFrames];
  uint64_t values_[kMaxValues];
  size_t frame_count_ = 0;
  size_t value_count_ = 0;
};

}  // namespace lagwatch::stack
