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
  // call, `modules` those it was unwound with. Reads the lock in place, twice. A kOnce's and a kHeap's owner
  // is not in their words. Context: watchdog.
  std::optional<LockWait> Find(const BlockedThread& blocked, const Stack& stack,
                               const ModuleMap& modules) const;

  // Of the stack of a thread that waits for a kOnce, the frames of which one is of the function that the
  // thread that runs the initializer is in, too: pthread_once, or the function with the static variable.
  struct OnceFrames {
    uint32_t begin = 0;
    uint32_t end = 0;
    bool is_in_order = false;  // the initializer is called further on in the function than the wait
  };
  OnceFrames FindOnceFrames(const BlockedThread& blocked, const Stack& stack, const ModuleMap& modules) const;
  // Whether a thread that waits for a kHeap with that stack is itself in malloc() or the like, and a signal's
  // handler has called it again: it waits for itself.
  bool IsWithinOwnHeapCall(const Stack& stack, const ModuleMap& modules) const;

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

  // Whether that is this process's C library, wherever its file is.
  bool IsLibrary(const Module& module) const;
  bool IsInLibrary(const Frame& frame, const ModuleMap& modules) const;
  // The start of the frame's function in this process's C library; 0 for another's.
  uint64_t StartInLibrary(const Frame& frame, const ModuleMap& modules) const;
  // The C library's waiting function that the frame is of; null: none.
  const Function* FindFunction(const Frame& frame, const ModuleMap& modules) const;
  Waiter FindWaiter(const Stack& stack, const ModuleMap& modules) const;
  // Whether the process has this process's C library: then functions and locks are alike.
  bool HasSameLibrary(const ModuleMap& modules) const;
  LockWait Judge(const FutexCall& call, const Waiter& waiter, const Stack& stack,
                 const ModuleMap& modules) const;
  LockWait JudgeNameless(const FutexCall& call, const Stack& stack, const ModuleMap& modules) const;
  LockWait JudgeMutex(const FutexCall& call, bool is_mutex_for_certain) const;
  // In a process with another C library, whose functions are not known: of glibc's, also of a static program,
  // and of musl's.
  std::optional<LockWait> JudgeByWords(const FutexCall& call) const;
  LockWait JudgeInheriting(const FutexCall& call) const;
  LockWait JudgeRwLock(const FutexCall& call, bool is_for_writing) const;
  LockWait JudgeThread(const FutexCall& call) const;
  LockWait JudgeOnce(const FutexCall& call, const Stack& stack, const ModuleMap& modules) const;
  LockWait JudgeStream(const FutexCall& call) const;
  // The thread whose word for pthread_join is at `address`; 0 if none is.
  uint32_t ThreadAt(const base::Process& process, uint64_t address) const;

  static constexpr size_t kMaxFunctions = 32;
  std::array<Function, kMaxFunctions> functions_;
  size_t function_count_ = 0;
  uint64_t library_inode_ = 0;  // of the C library's file; 0 where it is not known, as the next
  uint64_t library_base_ = 0;
  std::array<unsigned char, Module::kMaxBuildIdBytes> library_build_id_{};
  size_t library_build_id_bytes_ = 0;  // 0: it has none
  uint64_t syscall_start_ =
      0;  // of syscall(2) in the C library, as the next; 0 where it has no such function
  uint64_t lock_wait_start_ = 0;  // of the function that waits for the library's own locks
  std::optional<MutexLayout> mutex_;
  std::optional<RwLockLayout> rwlock_;
  std::optional<ThreadLayout> thread_;
};

}  // namespace lagwatch::stack
