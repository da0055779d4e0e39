// SPDX-License-Identifier: Apache-2.0
// A wait in futex(2), as those that judge it look at it. Context: watchdog.
#pragma once

#include <linux/futex.h>
#include <unistd.h>

#include "stack/threads/lock_owner.h"

namespace lagwatch::stack {

struct LockOwners::FutexCall {
  base::Process process;  // that has the lock
  uint64_t address;
  int operation;   // without its flags
  uint32_t value;  // that the word had when the wait began
  bool has_timeout;
  bool is_private;  // other processes have no part in it

  // Whether the word has not changed since.
  bool IsUnchanged() const {
    uint32_t word;
    return process.ReadValue(address, &word) && word == value;
  }
  bool IsThread(uint32_t tid) const {
    return tid != 0 && tid <= FUTEX_TID_MASK &&
           ReadThreadStateLetter({process, static_cast<int32_t>(tid)}) != '?';
  }
  LockWait Result(LockKind kind, WaitsFor waits_for, uint64_t lock, uint32_t owner_tid = 0) const {
    return {lock, kind, waits_for, has_timeout, static_cast<int32_t>(owner_tid)};
  }
  LockWait Unknown(LockKind kind = LockKind::kUnknown) const {
    return Result(kind, WaitsFor::kUnknown, address);
  }
  // Names the owner if it can be one.
  LockWait OwnedBy(uint32_t owner_tid, LockKind kind, uint64_t lock) const {
    // The watchdog itself, the caller, holds nothing that others wait for.
    const bool is_caller = static_cast<pid_t>(owner_tid) == gettid() && !process.is_core();
    bool can_be = is_private && IsThread(owner_tid) && !is_caller;
    return can_be ? Result(kind, WaitsFor::kOwner, lock, owner_tid) : Result(kind, WaitsFor::kUnknown, lock);
  }
};

}  // namespace lagwatch::stack
