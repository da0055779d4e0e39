// SPDX-License-Identifier: Apache-2.0
// The calls by which a program confines itself, in front of the C library's own. A seccomp filter that
// does not know our calls would end the process at the next of them, and so would the ban of the time
// stamp counter (PR_SET_TSC): nothing of ours is left when they take effect. Landlock rules hold for the
// calling thread and for those that it starts, so the monitor starts before them. unshare(2) and setns(2)
// refuse some changes to a process with several threads: ours end for the call. Compiled without
// exceptions: see thread_waits.cc.
#include <linux/io_uring.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include <csignal>
#include <cstdint>
#include <optional>

#include "base/process/safe_memory.h"
#include "sdk/preload/next_function.h"
#include "sdk/preload/raw_syscall.h"
#include "sdk/preload/schedule_hooks.h"
#include "sdk/preload/signal_waits.h"
#include "sdk/preload/syscall_forwards.h"
#include "sdk/preload/watch/process_watch.h"
#include "sdk/preload/watch/thread_state.h"

namespace {

using lagwatch::sdk::Confinement;
using lagwatch::sdk::FunctionAge;
using lagwatch::sdk::MonitorPause;
using lagwatch::sdk::NextFunction;
using lagwatch::sdk::ObjectKind;

using Word = long;  // an argument of a system call
constinit NextFunction<int(int, Word, Word, Word, Word)> g_prctl("prctl");
constinit NextFunction<long(Word, Word, Word, Word, Word, Word, Word)> g_syscall("syscall");
constinit NextFunction<int(int)> g_unshare("unshare");
constinit NextFunction<int(int, int)> g_setns("setns");
constinit NextFunction<int(pid_t, void*, unsigned)> g_sched_setattr("sched_setattr", FunctionAge::kRecent);

// Calls with a null pointer only find out what the kernel knows.
std::optional<Confinement> ConfinementByFilter(bool is_strict, Word program) {
  if (is_strict) return Confinement::kStrict;
  if (program != 0) return Confinement::kFilter;
  return std::nullopt;
}
std::optional<Confinement> ConfinementBySeccomp(Word operation, Word program) {
  if (operation != SECCOMP_SET_MODE_STRICT && operation != SECCOMP_SET_MODE_FILTER) return std::nullopt;
  return ConfinementByFilter(operation == SECCOMP_SET_MODE_STRICT, program);
}
std::optional<Confinement> ConfinementByPrctl(Word option, Word mode, Word program) {
  constexpr Word kSetDispatch = 59;  // PR_SET_SYSCALL_USER_DISPATCH, which older headers lack
  switch (option) {
    case PR_SET_SECCOMP:
      return ConfinementByFilter(mode == SECCOMP_MODE_STRICT, program);
    case PR_SET_TSC:
      if (mode == PR_TSC_SIGSEGV) return Confinement::kNoTicks;
      break;
    case kSetDispatch:
      if (mode != 0) return Confinement::kDispatchedCalls;
      break;
    default:
      break;
  }
  return std::nullopt;
}
std::optional<Confinement> ConfinementBySyscall(Word number, Word a, Word b, Word c) {
  if (number == SYS_seccomp) [[unlikely]]
    return ConfinementBySeccomp(a, c);
  if (number == SYS_prctl) [[unlikely]]
    return ConfinementByPrctl(static_cast<int>(a), b, c);
  return std::nullopt;
}
// Namespaces that the kernel grants only to a process with one thread.
bool NeedsOneThread(Word unshared) {
  return (unshared & (CLONE_NEWUSER | CLONE_THREAD | CLONE_SIGHAND | CLONE_VM)) != 0;
}
// The same for setns(2), to which a mount namespace belongs: all threads share a root directory.
bool IsForOneThread(Word entered) {
  constexpr Word kNewTime = 0x80;  // CLONE_NEWTIME, which older headers lack
  return entered == 0 || (entered & (CLONE_NEWUSER | CLONE_NEWNS | kNewTime)) != 0;
}

// Afterwards the process can start no more threads, as its children are to be in another namespace; or new
// threads see other mounts, which may lack /proc and the spool directory.
bool IsForLaterThreads(Word unshared) { return (unshared & (CLONE_NEWPID | CLONE_NEWNS)) != 0; }
// A thread with a deadline cannot start any either. The type is the same in all sizes of the structure.
bool SetsDeadline(const void* attributes) {
  constexpr uint32_t kDeadline = 6;  // SCHED_DEADLINE, which older headers lack
  uint32_t size_and_policy[2] = {};
  return lagwatch::base::ReadOwnMemory(reinterpret_cast<uint64_t>(attributes), size_and_policy,
                                       sizeof size_and_policy) == sizeof size_and_policy &&
         size_and_policy[1] == kDeadline;
}

// After these calls the thread, and those that it starts, may not be allowed to open the spool directory; or
// it cannot start any.
void StartBefore(Word number, Word a, Word b) {
  constexpr Word kLandlock = 446;  // SYS_landlock_restrict_self, which older headers lack
  switch (number) {
    case SYS_setuid:
    case SYS_setfsuid:
      return lagwatch::sdk::StartBeforeUserChange(static_cast<uid_t>(a));
    case SYS_setreuid:
    case SYS_setresuid:
      return lagwatch::sdk::StartBeforeUserChange(static_cast<uid_t>(b));
    case kLandlock:
      return lagwatch::sdk::StartMonitorEarly();
    case SYS_unshare:
      if (IsForLaterThreads(a) && !NeedsOneThread(a)) lagwatch::sdk::StartMonitorEarly();
      return;
    case SYS_setns:
      if (IsForLaterThreads(b) && !IsForOneThread(b)) lagwatch::sdk::StartMonitorEarly();
      return;
    case SYS_sched_setattr:
      if (SetsDeadline(reinterpret_cast<const void*>(b))) lagwatch::sdk::StartMonitorEarly();
      return;
    default:
      return;
  }
}

// Of a call by which loops wait.
std::optional<ObjectKind> KindOfCall(Word number, Word least_results, Word flags) {
  constexpr Word kFutexWaitv = 449;  // SYS_futex_waitv, which older headers lack
  if (number == SYS_io_uring_enter && least_results != 0 && (flags & IORING_ENTER_GETEVENTS) != 0)
    return ObjectKind::kRing;
  if (number == kFutexWaitv) return ObjectKind::kLock;
  return std::nullopt;
}

template <typename Call>
auto Confine(Confinement confinement, Call call) {
  const MonitorPause pause = lagwatch::sdk::StopForConfinement(confinement);
  const auto result = call();
  if (result < 0) lagwatch::sdk::UndoConfinement(pause);
  return result;
}

template <typename Call>
auto CallAlone(Call call) {
  const MonitorPause pause = lagwatch::sdk::PauseMonitor();
  const auto result = call();
  lagwatch::sdk::ResumeMonitor(pause);
  return result;
}

// Before main(): a signal handler must not look up the real ones, and neither must a thread of ours, which
// would wait for a thread that loads a library.
[[gnu::constructor]] void FindConfiningCalls() {
  lagwatch::sdk::FindAll(g_prctl, g_syscall, g_unshare, g_setns, g_sched_setattr);
}

}  // namespace

#define LAGWATCH_REPLACES(name) __asm__(name) __attribute__((visibility("default")))

extern "C" {

int LagwatchPrctl(int option, Word a, Word b, Word c, Word d) LAGWATCH_REPLACES("prctl");
long LagwatchSyscall(Word number, Word a, Word b, Word c, Word d, Word e, Word f)
    LAGWATCH_REPLACES("syscall");
int LagwatchUnshare(int flags) LAGWATCH_REPLACES("unshare");
int LagwatchSetns(int fd, int type) LAGWATCH_REPLACES("setns");
int LagwatchSchedSetattr(pid_t tid, void* attributes, unsigned flags) LAGWATCH_REPLACES("sched_setattr");

int LagwatchPrctl(int option, Word a, Word b, Word c, Word d) {
  auto call = [=] { return g_prctl(option, a, b, c, d); };
  const std::optional<Confinement> confinement = ConfinementByPrctl(option, a, b);
  return confinement ? Confine(*confinement, call) : call();
}

long LagwatchSyscall(Word number, Word a, Word b, Word c, Word d, Word e, Word f) {
  auto* real = g_syscall.get();
  if (real == nullptr) [[unlikely]]
    real = &lagwatch::sdk::RawSyscall;
  const std::optional<Confinement> confinement = ConfinementBySyscall(number, a, b, c);
  const bool is_for_one = (number == SYS_unshare && NeedsOneThread(a)) ||
                          (number == SYS_setns && IsForOneThread(static_cast<int>(b)));
  auto call = [=] { return real(number, a, b, c, d, e, f); };
  if (confinement) [[unlikely]]
    return Confine(*confinement, call);
  StartBefore(number, a, b);
  if (number == SYS_execve || number == SYS_execveat) [[unlikely]]
    return lagwatch::sdk::ExecBySyscall(number, a, b, c, d, e);
  if (number == SYS_sigaltstack) [[unlikely]]
    return lagwatch::sdk::SetSignalStack(reinterpret_cast<const stack_t*>(a), reinterpret_cast<stack_t*>(b));
  if (number == SYS_rt_sigtimedwait) [[unlikely]] {
    return lagwatch::sdk::TakeProgramsSignal(
        reinterpret_cast<siginfo_t*>(b), reinterpret_cast<const timespec*>(c),
        [=](siginfo_t* info, const timespec* timeout) {
          return static_cast<int>(
              real(number, a, reinterpret_cast<Word>(info), reinterpret_cast<Word>(timeout), d, e, f));
        });
  }
  if (is_for_one) [[unlikely]]
    return CallAlone(call);
  if (const auto kind = KindOfCall(number, c, d)) [[unlikely]] {
    const lagwatch::sdk::ObjectCall wait{reinterpret_cast<uintptr_t>(__builtin_return_address(0)),
                                         reinterpret_cast<uintptr_t>(__builtin_frame_address(0)),
                                         static_cast<uint64_t>(a), *kind};
    const bool is_noted = lagwatch::sdk::BeginObjectWait(wait);
    const long result = call();
    if (is_noted)
      lagwatch::sdk::EndObjectWait(wait, number == SYS_io_uring_enter ? "io_uring_enter" : "futex_waitv");
    return result;
  }
  const Word result = real(number, a, b, c, d, e, f);
  if (number == SYS_sched_setattr && result == 0) [[unlikely]]
    lagwatch::sdk::NoteScheduling("sched_setattr", static_cast<int32_t>(a), __builtin_return_address(0));
  return result;
}

int LagwatchUnshare(int flags) {
  auto call = [=] { return g_unshare(flags); };
  StartBefore(SYS_unshare, flags, 0);
  return NeedsOneThread(flags) ? CallAlone(call) : call();
}

int LagwatchSetns(int fd, int type) {
  auto call = [=] { return g_setns(fd, type); };
  StartBefore(SYS_setns, fd, type);
  return IsForOneThread(type) ? CallAlone(call) : call();
}

// A function of glibc 2.41 and later.
int LagwatchSchedSetattr(pid_t tid, void* attributes, unsigned flags) {
  StartBefore(SYS_sched_setattr, tid, reinterpret_cast<Word>(attributes));
  auto* real = g_sched_setattr.get();
  const int result = real != nullptr
                         ? real(tid, attributes, flags)
                         : static_cast<int>(lagwatch::sdk::RawSyscall(
                               SYS_sched_setattr, tid, reinterpret_cast<Word>(attributes), flags, 0, 0, 0));
  if (result == 0) lagwatch::sdk::NoteScheduling("sched_setattr", tid, __builtin_return_address(0));
  return result;
}

}  // extern "C"
