// SPDX-License-Identifier: Apache-2.0
// Finds where this C library keeps the owner of a lock, without assumptions: makes and locks locks of every
// kind and inspects them; a layout that does not show the locking thread where it must be is unknown.
// docs/design/locks.md has the reasons.
#pragma once

#include <pthread.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

namespace lagwatch::stack {

// A lock's memory as 32-bit words, which is how the C library and the kernel look at it.
template <typename Lock>
using LockWords = std::array<uint32_t, sizeof(Lock) / sizeof(uint32_t)>;
using MutexWords = LockWords<pthread_mutex_t>;
using RwLockWords = LockWords<pthread_rwlock_t>;

// All but the masks are indexes into the words. Word 0 is the one that is waited for.
struct MutexLayout {
  size_t owner;        // the owning thread; 0 if the lock is free
  size_t users;        // at least 1 while the lock is held
  size_t kind;         // its type, and flags
  uint32_t type_mask;  // of `kind`: normal, recursive, error-checking, adaptive
  uint32_t
      robust_mask;  // of `kind`: flags of a mutex that notices its owner's death; word 0 then names the owner
  uint32_t other_mask;  // of `kind`: flags of inheriting and of shared mutexes
};

struct RwLockLayout {
  size_t writer;               // the thread that writes; 0 when none does
  size_t phase_wait;           // waited for by readers while writers have it, and by the next writer
  size_t writers_wait;         // waited for by further writers
  uint32_t reader_unit;        // what each reader adds to word 0
  uint32_t write_phase_mask;   // of word 0: its readers wait, they do not have it
  uint32_t write_locked_mask;  // of word 0: a writer has it, or is the next to
};

// The word of a thread that pthread_join waits for: its id until it ends.
struct ThreadLayout {
  uint64_t tid_bytes;          // from pthread_self() to that word
  uint64_t robust_list_bytes;  // from that word to the thread's robust list
  uint64_t futex_offset;       // passed to the kernel by the list; the same for all threads
};

// Nothing where the layout could not be found out. Context: watchdog; takes some microseconds and no lock but
// the ones it makes. Not on a thread with the id 1, which a counter could be mistaken for.
std::optional<MutexLayout> MeasureMutexLayout();
std::optional<RwLockLayout> MeasureRwLockLayout();
std::optional<ThreadLayout> MeasureThreadLayout();

}  // namespace lagwatch::stack
