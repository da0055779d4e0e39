// SPDX-License-Identifier: Apache-2.0
// The heap of lagwatch's code in a program that it is preloaded into, on memory from mmap(2). The program's
// heap may have no locks, be in use by the thread that is interrupted, or move the break that the C library's
// arenas grow by.
//
// Thread safety: all functions from any thread. Invariants: blocks of one size stay blocks of that size, and
// their memory stays mapped; so a list may be read while others change it, and its head's count says whether
// they did. Without locks, a child that is forked has a heap that works, at worst without a block that
// another thread of the parent was about to take. Context: any; signal. See docs/design/imports.md.
#pragma once

#include <cstddef>

namespace lagwatch::sdk {

class OwnHeap {
 public:
  static constexpr size_t kAlignment = 16;

  // Null when there is no memory.
  static void* Allocate(size_t bytes);
  static void* AllocateZeroed(size_t bytes);
  // `alignment`: a power of two.
  static void* AllocateAligned(size_t alignment, size_t bytes);
  // Null, and `memory` stays, when there is no memory. `memory` may be null.
  static void* Resize(void* memory, size_t bytes);
  static void Free(void* memory);
};

}  // namespace lagwatch::sdk
