// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <sched.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "base/process/safe_memory.h"
#include "base/system/proc_ids.h"
#include "base/system/system_calls.h"
#include "watchdog/evidence/wait_object.h"
#include "watchdog/evidence/wait_peer.h"

namespace lagwatch::watchdog {
namespace {

using Kind = WaitObject::Kind;

constexpr WaitObject kAnyChild{Kind::kChild, 0};

// As an argument of a call names it; not above 0: any.
WaitObject Child(uint64_t argument) {
  const auto pid = static_cast<int32_t>(argument);
  return pid > 0 ? WaitObject{Kind::kChild, base::ProcIdOfChild(pid)} : kAnyChild;
}

// A child that was started by vfork(2) and its kin ends the wait when it goes on with another program.
WaitObject ChildOfClone(uint64_t flags) { return (flags & CLONE_VFORK) != 0 ? kAnyChild : WaitObject{}; }

WaitObject ChildOf(const stack::BlockedThread& blocked) {
  const uint64_t* arguments = blocked.arguments;
  switch (blocked.syscall_number) {
    case SYS_wait4:
      return Child(arguments[0]);
    case SYS_waitid:
      if (arguments[0] == P_PIDFD) return {Kind::kDescriptor, static_cast<int32_t>(arguments[1])};
      return arguments[0] == P_PID ? Child(arguments[1]) : kAnyChild;
    case SYS_clone:
      return ChildOfClone(arguments[0]);
    case SYS_clone3: {
      uint64_t flags = 0;  // the first of its arguments' members
      return base::ReadWatchedValue(arguments[0], &flags) ? ChildOfClone(flags) : WaitObject{};
    }
    default:  // vfork
      return kAnyChild;
  }
}

}  // namespace

WaitObject ObjectOfWait(int32_t tid, const stack::BlockedThread& blocked) {
  const base::SystemCall& call = blocked.call();
  const WaitObject lock{Kind::kFileLock, static_cast<int32_t>(blocked.arguments[0])};
  if (call.awaits == base::CallAwaits::kChild) return ChildOf(blocked);
  if (blocked.syscall_number == SYS_flock) return lock;
  if (call.awaits == base::CallAwaits::kFileLock)
    return IsFileLockCommand(blocked.arguments[1]) ? lock : WaitObject{};
  if (blocked.syscall_number == SYS_futex) return {Kind::kFutex, 0};
  const int descriptor = AwaitedDescriptor(tid, blocked);
  return descriptor == kNoDescriptor ? WaitObject{} : WaitObject{Kind::kDescriptor, descriptor};
}

}  // namespace lagwatch::watchdog
