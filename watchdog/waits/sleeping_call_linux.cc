// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <sched.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <cstdio>
#include <string_view>

#include "base/process/proc_file.h"
#include "base/system/proc_ids.h"
#include "base/system/system_calls.h"
#include "watchdog/waits/file_locks.h"
#include "watchdog/waits/sleeping_call.h"
#include "watchdog/waits/wait_peer.h"

namespace lagwatch::watchdog {
namespace {

using Kind = WaitObject::Kind;

constexpr WaitObject kAnyChild{Kind::kChild, 0};

// As an argument of a call names it; not above 0: any.
WaitObject Child(const base::Process& process, uint64_t argument) {
  const auto pid = static_cast<int32_t>(argument);
  if (pid <= 0) return kAnyChild;
  return {Kind::kChild, process.is_own() ? base::ProcIdOfChild(pid) : pid};
}

// A child that was started by vfork(2) and its kin ends the wait when it goes on with another program.
WaitObject ChildOfClone(uint64_t flags) { return (flags & CLONE_VFORK) != 0 ? kAnyChild : WaitObject{}; }

WaitObject ChildOf(const base::Process& process, const stack::BlockedThread& blocked) {
  const uint64_t* arguments = blocked.arguments;
  switch (blocked.syscall_number) {
    case SYS_wait4:
      return Child(process, arguments[0]);
    case SYS_waitid:
      if (arguments[0] == P_PIDFD) return {Kind::kDescriptor, static_cast<int32_t>(arguments[1])};
      return arguments[0] == P_PID ? Child(process, arguments[1]) : kAnyChild;
    case SYS_clone:
      return ChildOfClone(arguments[0]);
    case SYS_clone3: {
      uint64_t flags = 0;  // the first of its arguments' members
      return process.ReadValue(arguments[0], &flags) ? ChildOfClone(flags) : WaitObject{};
    }
    default:  // vfork
      return kAnyChild;
  }
}

}  // namespace

std::optional<WaitSet> SetOf(const stack::BlockedThread& blocked) {
  const uint64_t* arguments = blocked.arguments;
  const auto first = static_cast<int>(arguments[0]);
  const auto set = [&](size_t i) { return reinterpret_cast<const fd_set*>(arguments[i]); };
  switch (blocked.call().set) {
    case base::DescriptorSet::kEpoll:
      return WaitSet::Epoll(first);
    case base::DescriptorSet::kPoll:
      return WaitSet::Poll(reinterpret_cast<pollfd*>(arguments[0]), arguments[1]);
    case base::DescriptorSet::kSelect:
      return WaitSet::Select(first, set(1), set(2), set(3));
    case base::DescriptorSet::kNoSet:
      break;
  }
  return std::nullopt;
}

std::span<const int> ReadSet(const base::Thread& thread, const WaitSet& set, std::span<int> room) {
  if (!set.is_epoll())
    return room.first(set.CopyDescriptors(thread.process, /*is_readable=*/false, room.data(), room.size()));
  char leaf[24];
  std::snprintf(leaf, sizeof leaf, "fdinfo/%d", set.epoll());
  char buffer[8192];
  std::string_view text = base::ReadSmallFile(base::TaskPath(thread, leaf).c_str(), buffer, sizeof buffer);
  constexpr std::string_view kTarget = "tfd:";
  size_t count = 0;
  for (size_t at = text.find(kTarget); at != std::string_view::npos && count < room.size();
       at = text.find(kTarget)) {
    text.remove_prefix(at + kTarget.size());
    uint64_t descriptor = 0;
    if (base::ConsumeDecimal(&text, &descriptor)) room[count++] = static_cast<int>(descriptor);
  }
  return room.first(count);
}

WaitObject ObjectOfWait(const base::Thread& thread, const stack::BlockedThread& blocked) {
  const base::SystemCall& call = blocked.call();
  const WaitObject lock{Kind::kFileLock, static_cast<int32_t>(blocked.arguments[0])};
  if (call.awaits == base::CallAwaits::kChild) return ChildOf(thread.process, blocked);
  if (blocked.syscall_number == SYS_flock) return lock;
  if (call.awaits == base::CallAwaits::kFileLock)
    return IsFileLockCommand(blocked.arguments[1]) ? lock : WaitObject{};
  if (blocked.syscall_number == SYS_futex) return {Kind::kFutex, 0};
  const int descriptor = AwaitedDescriptor(thread, blocked);
  return descriptor == kNoDescriptor ? WaitObject{} : WaitObject{Kind::kDescriptor, descriptor};
}

}  // namespace lagwatch::watchdog
