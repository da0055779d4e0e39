// SPDX-License-Identifier: Apache-2.0
// The table of lagwatch's own threads in this process, so that no report shows them as the program's.
// Thread safety: any thread. Invariants: a place holds the process and the thread that took it, or 0; a
// thread changes its own place only, and a forked child finds none of its parent's threads.
#pragma once

#include <cstddef>
#include <cstdint>

namespace lagwatch::base {

enum class ThreadOwner : uint8_t {
  kProgram,
  kLagwatch,
  kLent,  // one of lagwatch's threads, in a function of the program's
};

// Context: any; some dozen loads.
ThreadOwner OwnerOfThread(int32_t tid);

// Calls `visit(tid)` for each of lagwatch's threads until it returns false. Returns whether it never did.
// Context: any; takes no lock.
template <typename Visit>
bool ForEachOwnThread(Visit visit);

// Makes the calling thread one of lagwatch's. Where the table is full, the thread counts as the program's.
class ScopedOwnThread {
 public:
  ScopedOwnThread();
  ~ScopedOwnThread();
  ScopedOwnThread(const ScopedOwnThread&) = delete;
  ScopedOwnThread& operator=(const ScopedOwnThread&) = delete;
};

// Lends the calling thread, if it is one of lagwatch's, to a function of the program's.
class ScopedLentThread {
 public:
  ScopedLentThread();
  ~ScopedLentThread();
  ScopedLentThread(const ScopedLentThread&) = delete;
  ScopedLentThread& operator=(const ScopedLentThread&) = delete;
};

namespace internal {
inline constexpr size_t kMostOwnThreads = 64;
int32_t OwnThreadAt(size_t place);  // 0: none
}  // namespace internal

template <typename Visit>
bool ForEachOwnThread(Visit visit) {
  for (size_t place = 0; place < internal::kMostOwnThreads; ++place) {
    const int32_t tid = internal::OwnThreadAt(place);
    if (tid != 0 && !visit(tid)) return false;
  }
  return true;
}

}  // namespace lagwatch::base
