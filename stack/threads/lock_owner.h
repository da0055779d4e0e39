// SPDX-License-Identifier: Apache-2.0
// Finds the lock that a thread sleeping in futex(2) waits for, and the thread that could end the wait. A
// wrong owner is worse than none: an owner is named only if the waiting function, the lock's words and the
// list of the process's threads agree. docs/design/locks.md shows how the kinds are distinguished.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "policies/hang_parts.h"
#include "stack/code/module_map.h"
#include "stack/frames/stack.h"
#include "stack/threads/lock_layout.h"
#include "stack/threads/thread_state.h"

namespace lagwatch::stack {

using policies::LockKind;
using policies::LockWait;
using policies::WaitsFor;

class LockOwners {
 public:
  // Looks up the C library's waiting functions. Context: background.
  LockOwners();

  // Finds out where this C library keeps owners; until then, and where that fails, no owner is named.
  // Returns how many of the three (mutexes, read-write locks, threads) are not known. Context:
  // watchdog; see lock_layout.h.
  int MeasureLayouts();

  // Whether `blocked` is in a call that Find() can say more about.
  static bool IsInLockCall(const BlockedThread& blocked);

  // The lock that `blocked` waits for; none if it is in no such call. `stack` is that thread's in the same
  // call, `modules` those it was unwound with. Reads the lock in place, twice. Context: watchdog.
  std::optional<LockWait> Find(const BlockedThread& blocked, const Stack& stack,
                               const ModuleMap& modules) const;

 private:
  struct FutexCall;
  struct Function {
    uint64_t start;
    LockKind kind;
    bool is_for_writing;  // of a read-write lock
  };
  // The innermost waiting function of a stack; kUnknown when there is none close to the inner end.
  struct Waiter {
    LockKind kind;
    bool is_for_writing;
    uint32_t depth;
  };

  Waiter FindWaiter(const Stack& stack, const ModuleMap& modules) const;
  // Whether the process has this process's C library: then functions and locks are alike.
  bool HasSameLibrary(const ModuleMap& modules) const;
  LockWait Judge(const FutexCall& call, const Waiter& waiter) const;
  LockWait JudgeMutex(const FutexCall& call, bool is_mutex_for_certain) const;
  LockWait JudgeInheriting(const FutexCall& call) const;
  LockWait JudgeRwLock(const FutexCall& call, bool is_for_writing) const;
  LockWait JudgeThread(const FutexCall& call) const;

  static constexpr size_t kMaxFunctions = 32;
  std::array<Function, kMaxFunctions> functions_;
  size_t function_count_ = 0;
  uint64_t library_inode_ = 0;  // of the C library's file; 0 where it is not known, as the next
  uint64_t library_base_ = 0;
  std::optional<MutexLayout> mutex_;
  std::optional<RwLockLayout> rwlock_;
  std::optional<ThreadLayout> thread_;
};

}  // namespace lagwatch::stack
