// SPDX-License-Identifier: Apache-2.0
// Memory from mmap(2) that stays out of mlockall(2): a program that locks its future mappings
// (MCL_FUTURE) would otherwise get every page of lagwatch's reserves at once, and count them against
// RLIMIT_MEMLOCK. Pages get memory when they are touched first.
#pragma once

#include <sys/mman.h>

#include <cstddef>
#include <memory>
#include <type_traits>

namespace lagwatch::base {

// Returns zeroed memory of its own pages, to be given back with munmap(2); null when there is none.
// Context: watchdog, background.
void* MapUnlocked(size_t size_bytes);

// Makes such memory larger or smaller: returns where it is now, with its content as far as that fits; new
// pages are zero. Null, and nothing changed, when there is none. Context: watchdog, background.
void* ResizeUnlocked(void* memory, size_t old_size_bytes, size_t new_size_bytes);

// Gives mapped memory back.
struct Unmapper {
  size_t size_bytes = 0;
  void operator()(void* memory) const { munmap(memory, size_bytes); }
};

// An array on such memory, all zeros at first; no constructor or destructor of an element runs. Null when
// there is no memory.
template <typename T>
using MappedBlock = std::unique_ptr<T[], Unmapper>;

template <typename T>
MappedBlock<T> MapBlock(size_t count) {
  static_assert(std::is_trivially_destructible_v<T>);
  const size_t size_bytes = count * sizeof(T);
  return MappedBlock<T>(static_cast<T*>(MapUnlocked(size_bytes)), Unmapper{size_bytes});
}

}  // namespace lagwatch::base
