// SPDX-License-Identifier: Apache-2.0
// Walks a stack of Go code, by the sizes of frames that the table of functions has.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include "stack/frames/raw_stack.h"
#include "stack/interpreters/go/functions.h"
#include "stack/interpreters/memory.h"

namespace lagwatch::stack::go {

// The memory of a stack, read piece by piece. Zeros are none.
class StackBytes {
 public:
  // `memory` is borrowed. The stack is from `begin` to `end`.
  void Use(Memory* memory, uint64_t begin, uint64_t end) {
    memory_ = memory;
    begin_ = begin;
    end_ = end;
    read_begin_ = read_end_ = 0;
    copy_ = nullptr;
  }
  // The copy of a thread's stack instead, borrowed.
  void Use(const RawStack& copy) {
    begin_ = copy.address;
    end_ = copy.address + copy.size_bytes;
    copy_ = &copy;
  }
  uint64_t end() const { return end_; }
  // False outside of the stack.
  bool Word(uint64_t address, uint64_t* word);

 private:
  static constexpr size_t kBytes = 8 << 10;

  Memory* memory_ = nullptr;
  const RawStack* copy_ = nullptr;
  uint64_t begin_ = 0;
  uint64_t end_ = 0;
  uint64_t read_begin_ = 0;
  uint64_t read_end_ = 0;
  std::array<uint8_t, kBytes> bytes_{};
};

// A frame under way.
struct Frame {
  Function function;
  uint64_t pc;     // within the call, of a caller
  uint64_t begin;  // the stack pointer
  uint64_t end;    // of its own part of the stack: the return address is there
};

enum class WalkEnd : uint8_t { kOutermost, kStopped, kUnknownCode, kUnreadable, kCut };

// Calls `use(frame)` for the frames from `pc` and `sp` on, innermost first, until it returns false. With
// `is_caller`, `pc` is a return address. Go code on x86-64.
template <typename Use>
WalkEnd Walk(Functions* functions, StackBytes* stack, uint64_t pc, uint64_t sp, bool is_caller, Use use) {
  constexpr int kMostFrames = 4096;
  for (int i = 0; i < kMostFrames; ++i) {
    Frame frame{.function = {}, .pc = is_caller ? pc - 1 : pc, .begin = sp, .end = sp};
    // A goroutine that has not run yet begins with a function's first instruction.
    if (i == 0 && is_caller && functions->Find(pc, &frame.function) && frame.function.entry == pc)
      frame.pc = pc;
    if (!functions->Find(frame.pc, &frame.function)) return WalkEnd::kUnknownCode;
    const int32_t size = functions->FrameBytes(frame.function, frame.pc);
    if (size < 0 || size % 8 != 0) return WalkEnd::kUnreadable;
    frame.end = sp + static_cast<uint32_t>(size);
    if (frame.function.is_outermost) return WalkEnd::kOutermost;
    if (!use(frame)) return WalkEnd::kStopped;
    if (frame.function.moves_stack && i != 0) return WalkEnd::kUnknownCode;
    if (!stack->Word(frame.end, &pc)) return WalkEnd::kUnreadable;
    sp = frame.end + 8;
    is_caller = true;
  }
  return WalkEnd::kCut;
}

}  // namespace lagwatch::stack::go
