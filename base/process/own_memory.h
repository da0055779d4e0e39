// SPDX-License-Identifier: Apache-2.0
// Memory for lagwatch's own threads, which a forked child of the program does not get: it has none of these
// threads. Each mapping costs fork() 1 to 2 µs, and each page that has memory a page fault in the parent
// afterwards.
#pragma once

#include <sys/mman.h>

#include <cstddef>

#include "base/process/mapped_memory.h"

namespace lagwatch::base {

// Leaves whole pages out of children, where the system can. They must not be touched there, neither by a fork
// handler nor by what a child of a bare clone(2) does, for which no handler runs. Context: watchdog,
// background.
inline void LeaveOutOfForks([[maybe_unused]] void* memory, [[maybe_unused]] size_t size_bytes) {
#ifdef MADV_DONTFORK
  if (memory != nullptr) madvise(memory, size_bytes, MADV_DONTFORK);
#endif
}

// As MapBlock().
template <typename T>
MappedBlock<T> MapOwnBlock(size_t count) {
  MappedBlock<T> block = MapBlock<T>(count);
  LeaveOutOfForks(block.get(), count * sizeof(T));
  return block;
}

}  // namespace lagwatch::base
