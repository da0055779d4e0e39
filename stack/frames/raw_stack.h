// SPDX-License-Identifier: Apache-2.0
// A thread as it was caught, not yet unwound: registers and a copy of the live part of its stack.
// Context: signal (plain data).
#pragma once

#include <cstddef>
#include <cstdint>

namespace lagwatch::stack {

// Room for some 10,000 frames. Only the used part takes memory.
inline constexpr size_t kMaxRawStackBytes = 2 << 20;
// Stacks up to here are copied without a page fault.
inline constexpr size_t kUsualRawStackBytes = 256 << 10;

// Registers in DWARF numbering (System V ABI for x86-64, AADWARF64 for arm64), which is libunwind's too.
struct Registers {
#if defined(__x86_64__)
  static constexpr int kCount = 17;
  static constexpr int kBasePointer = 3;  // rbx, by which some code finds a frame whose size it does not know
  static constexpr int kFramePointer = 6;
  static constexpr int kStackPointer = 7;
  static constexpr int kProgramCounter = 16;
  static constexpr int kReturnAddress = 16;  // unwind tables know it by this number
  static constexpr uint64_t kAddressMask = ~uint64_t{0};
#elif defined(__aarch64__)
  static constexpr int kCount = 33;
  static constexpr int kBasePointer = 19;
  static constexpr int kFramePointer = 29;
  static constexpr int kStackPointer = 31;
  static constexpr int kProgramCounter = 32;
  static constexpr int kReturnAddress = 30;
  // Pointer authentication keeps a signature in the bits above a user space address.
  static constexpr uint64_t kAddressMask = (uint64_t{1} << 48) - 1;
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
  uint64_t address;     // where bytes[0] was: in the red zone
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

// Memory below the stack pointer that the ABI lets a leaf function use. In the epilogue of any function the
// caller's frame pointer may be found there.
#if defined(__x86_64__)
inline constexpr uint64_t kRedZoneBytes = 128;
#else
inline constexpr uint64_t kRedZoneBytes = 0;
#endif

// The most that the main thread's stack may have grown down since its mapping was read.
inline constexpr uint64_t kMainStackGrowthBytes = 8 << 20;

// The regions that may hold stacks: private writable mappings, ascending, and the kernel's one of
// the main thread.
struct StackRegions {
  const MemoryRegion* regions;
  size_t count;
  MemoryRegion main_stack;

  bool IsOnMainStack(uint64_t stack_pointer) const {
    return stack_pointer < main_stack.end && main_stack.end != 0 &&
           stack_pointer >= main_stack.begin - kMainStackGrowthBytes;
  }
  // Whether there was memory for stacks there; not under a thread that is newer.
  bool Knows(uint64_t stack_pointer) const {
    return IsOnMainStack(stack_pointer) || FindRegion(stack_pointer, regions, count) != nullptr;
  }
  // The live stack of a thread with that stack pointer, with what of the red zone is there as well: up to the
  // end of its mapping, or, outside of all of them, of its page, which is there in any case.
  MemoryRegion LiveStack(uint64_t stack_pointer) const {
    constexpr uint64_t kPageMask = 4096 - 1;
    MemoryRegion around{stack_pointer & ~kPageMask, (stack_pointer | kPageMask) + 1};
    if (IsOnMainStack(stack_pointer)) {
      around.end = main_stack.end;
      if (main_stack.begin < around.begin) around.begin = main_stack.begin;
    } else if (const MemoryRegion* region = FindRegion(stack_pointer, regions, count)) {
      around = *region;
    }
    uint64_t red_zone = stack_pointer - kRedZoneBytes;
    return {red_zone > around.begin ? red_zone : around.begin, around.end};
  }
};

}  // namespace lagwatch::stack
