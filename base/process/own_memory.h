// SPDX-License-Identifier: Apache-2.0
// Memory of lagwatch's own, as few mappings: each costs fork() about 1 µs, also one that is left out of
// children, and 2 µs where it has pages to copy. See docs/design/start.md.
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

// Has children find these pages zeroed, where the system can: false where it cannot. Each costs no copy, and
// no page fault of the parent's afterwards. Context: watchdog, background.
inline bool WipeInForks([[maybe_unused]] void* memory, [[maybe_unused]] size_t size_bytes) {
#ifdef MADV_WIPEONFORK
  return memory != nullptr && madvise(memory, size_bytes, MADV_WIPEONFORK) == 0;
#else
  return false;
#endif
}

// As MapUnlocked(), left out of children: a part of a larger mapping where possible. Context: watchdog,
// background.
void* MapOwn(size_t size_bytes);
// As MapUnlocked(), and children have it: a part of a larger mapping where possible. For what stays, or is
// rarely given back. Context: as MapUnlocked(); signal.
void* MapKept(size_t size_bytes);

// As MapBlock().
template <typename T>
MappedBlock<T> MapOwnBlock(size_t count) {
  static_assert(std::is_trivially_destructible_v<T>);
  const size_t size_bytes = count * sizeof(T);
  return MappedBlock<T>(static_cast<T*>(MapOwn(size_bytes)), Unmapper{size_bytes});
}

template <typename T>
MappedBlock<T> MapKeptBlock(size_t count) {
  static_assert(std::is_trivially_destructible_v<T>);
  const size_t size_bytes = count * sizeof(T);
  return MappedBlock<T>(static_cast<T*>(MapKept(size_bytes)), Unmapper{size_bytes});
}

// Makes whole pages a guard, in children, too. False when that took a mapping of its own. Context:
// background.
bool GuardPages(void* memory, size_t size_bytes);

// Zeroed memory, for good, that every child finds zeroed again, also one of a bare clone(2): for locks and
// counts that belong to one process. Written between two forks it costs no page fault, as copied memory does.
// Null where the system has no such memory (before Linux 4.14), or none is left. Context: any but signal.
void* TakeWiped(size_t size_bytes);

}  // namespace lagwatch::base
