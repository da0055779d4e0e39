// SPDX-License-Identifier: Apache-2.0
// A thread as it was caught, not yet unwound: registers and a copy of the live part of its stack.
// Context: signal (plain data).
#pragma once

#include <cstddef>
#include <cstdint>

namespace lagwatch::stack {

// Room for some 10,000 frames. Memory is taken only for what is used of it.
inline constexpr size_t kMaxRawStackBytes = 2 << 20;
// Stacks up to here are copied without a page fault.
inline constexpr size_t kUsualRawStackBytes = 256 << 10;

// Registers in DWARF numbering (System V ABI for x86-64, AADWARF64 for arm64), which is libunwind's too.
struct Registers {
#if defined(__x86_64__)
  static constexpr int kCount = 17;
  static constexpr int kFramePointer = 6;
  static constexpr int kStackPointer = 7;
  static constexpr int kProgramCounter = 16;
  static constexpr int kReturnAddress = 16;  // unwind tables know it by this number
#elif defined(__aarch64__)
  static constexpr int kCount = 33;
  static constexpr int kFramePointer = 29;
  static constexpr int kStackPointer = 31;
  static constexpr int kProgramCounter = 32;
  static constexpr int kReturnAddress = 30;
#endif
  static constexpr uint64_t kAllKnown = (uint64_t{1} << kCount) - 1;

  uint64_t value[kCount];
  uint64_t known_mask;  // bit i: value[i] is what the thread has

  uint64_t stack_pointer() const { return value[kStackPointer]; }
  uint64_t program_counter() const { return value[kProgramCounter]; }
  bool is_known(int number) const {
    return number >= 0 && number < kCount && (known_mask >> number & 1) != 0;
  }
};

struct RawStack {
  Registers registers;
  uint64_t address;     // where bytes[0] was: the stack pointer
  uint64_t size_bytes;  // how much of `bytes` is filled
  uint64_t end;         // of the live stack; past address + size_bytes when that did not fit
  alignas(16) char bytes[kMaxRawStackBytes];
};

// A mapping that may hold stacks: [begin, end).
struct MemoryRegion {
  uint64_t begin;
  uint64_t end;

  bool Holds(uint64_t address) const { return begin <= address && address < end; }
};

// The one of `regions` (ascending) that holds `address`; null when none does.
inline const MemoryRegion* FindRegion(uint64_t address, const MemoryRegion* regions, size_t region_count) {
  size_t low = 0;
  size_t high = region_count;
  while (low < high) {
    size_t middle = low + (high - low) / 2;
    if (regions[middle].end <= address) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low < region_count && regions[low].Holds(address) ? &regions[low] : nullptr;
}

// The end of the live stack that `stack_pointer` points into: the end of its mapping in `regions`
// (ascending), or, without one, the end of its page, which is mapped in any case.
inline uint64_t FindStackEnd(uint64_t stack_pointer, const MemoryRegion* regions, size_t region_count) {
  constexpr uint64_t kPageSize = 4096;
  const MemoryRegion* region = FindRegion(stack_pointer, regions, region_count);
  return region != nullptr ? region->end : (stack_pointer | (kPageSize - 1)) + 1;
}

}  // namespace lagwatch::stack
