// SPDX-License-Identifier: Apache-2.0
// Locks that the C and C++ libraries take by themselves: of initializers, of streams, of malloc.
#include <linux/futex.h>

#include "stack/threads/futex_call_linux.h"
#include "stack/threads/lock_owner.h"

namespace lagwatch::stack {
namespace {

// The state of a static variable's guard in libstdc++ (guard.cc): an initializer runs, and others wait.
constexpr uint32_t kGuardAwaited = 0x10100;
// Of a pthread_once_t in glibc (pthread_once.c): the same, in a process that was forked from the one that
// began.
constexpr uint32_t kOnceStateMask = 3;
constexpr uint32_t kOnceRuns = 1;
// Of the C library's own locks (lowlevellock.h): taken, and others wait.
constexpr uint32_t kLockAwaited = 2;

}  // namespace

// The words say little, so the innermost frame must fit, too: pthread_once has the system call in itself, and
// libstdc++ uses syscall(2).
LockWait LockOwners::JudgeOnce(const FutexCall& call, const Stack& stack, const ModuleMap& modules) const {
  if (call.operation != FUTEX_WAIT || call.has_timeout || stack.frame_count == 0 || !call.IsUnchanged())
    return call.Unknown();
  const Frame& innermost = stack.frames[0];
  const uint64_t start = StartInLibrary(innermost, modules);
  const bool is_guard = call.value == kGuardAwaited && start != 0 && start == syscall_start_;
  const bool is_once = (call.value & kOnceStateMask) == kOnceRuns && call.is_private &&
                       IsInLibrary(innermost, modules) && start != syscall_start_ &&
                       start != lock_wait_start_;
  return is_guard || is_once ? call.Unknown(LockKind::kOnce) : call.Unknown();
}

LockOwners::OnceFrames LockOwners::FindOnceFrames(const BlockedThread& blocked, const Stack& stack,
                                                  const ModuleMap& modules) const {
  // syscall(), __cxa_guard_acquire(), and its caller
  constexpr OnceFrames kOfGuard{.begin = 2, .end = 3, .is_in_order = true};
  if (static_cast<uint32_t>(blocked.arguments[2]) == kGuardAwaited)
    return stack.frame_count < kOfGuard.end ? OnceFrames{} : kOfGuard;
  OnceFrames frames;
  while (frames.end < stack.frame_count && IsInLibrary(stack.frames[frames.end], modules)) ++frames.end;
  return frames;
}

// The word, the depth, and the owner's pthread_self().
LockWait LockOwners::JudgeStream(const FutexCall& call) const {
  struct {
    uint32_t word;
    uint32_t depth;
    uint64_t owner;
  } lock;
  const bool is_lock = thread_ && call.operation == FUTEX_WAIT && call.value == kLockAwaited &&
                       !call.has_timeout && call.process.ReadValue(call.address, &lock) &&
                       lock.word == call.value && lock.depth != 0 && lock.owner != 0;
  if (!is_lock) return call.Unknown();
  const uint32_t owner = ThreadAt(call.process, lock.owner + thread_->tid_bytes);
  LockWait wait = call.OwnedBy(owner, LockKind::kStream, call.address);
  return wait.waits_for == WaitsFor::kOwner ? wait : call.Unknown();
}

// Not if it was interrupted while it waited for another thread, in the same function.
bool LockOwners::IsWithinOwnHeapCall(const Stack& stack, const ModuleMap& modules) const {
  bool is_left = false;  // the C library, outwards from the innermost frame
  for (const Frame& frame : stack.view()) {
    is_left = is_left || !IsInLibrary(frame, modules);
    if (!is_left) continue;
    const uint64_t start = StartInLibrary(frame, modules);
    if (start != 0 && start == lock_wait_start_) return false;
    const Function* function = FindFunction(frame, modules);
    if (function != nullptr && function->kind == LockKind::kHeap) return true;
  }
  return false;
}

}  // namespace lagwatch::stack
