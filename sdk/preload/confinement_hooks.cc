// SPDX-License-Identifier: Apache-2.0
// The calls by which a program confines itself, in front of the C library's own. A seccomp filter that does
// not know our calls would end the process at the next of them: so nothing of ours is left when it takes
// effect. unshare(2) and setns(2) refuse some changes to a process with several threads: ours end for the
// call. Compiled without exceptions: see thread_waits.h.
#include <dlfcn.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include <atomic>
#include <cerrno>
#include <cstdint>

#include "sdk/preload/raw_syscall.h"
#include "sdk/preload/wait_tracker.h"

namespace {

using lagwatch::sdk::MonitorPause;

// The next definition of a function after ours.
template <typename Function>
class Real {
 public:
  explicit constexpr Real(const char* name) : name_(name) {}

  // Null in an older C library.
  Function* Find() {
    void* function = function_.load(std::memory_order_relaxed);  // the same value for every thread
    if (function == nullptr) {
      function = dlsym(RTLD_NEXT, name_);
      function_.store(function, std::memory_order_relaxed);
    }
    return reinterpret_cast<Function*>(function);
  }
  // Null before Find() was called. Context: signal.
  Function* found() const {
    return reinterpret_cast<Function*>(
        function_.load(std::memory_order_relaxed));  // the same for every thread
  }

 private:
  const char* name_;
  std::atomic<void*> function_{nullptr};
};

using Word = long;  // an argument of a system call
constinit Real<int(int, Word, Word, Word, Word)> g_prctl("prctl");
constinit Real<long(Word, Word, Word, Word, Word, Word, Word)> g_syscall("syscall");
constinit Real<int(int)> g_unshare("unshare");
constinit Real<int(int, int)> g_setns("setns");

// Calls with a null pointer only find out what the kernel knows.
bool IsConfiningPrctl(Word option, Word mode, Word program) {
  return option == PR_SET_SECCOMP && (mode == SECCOMP_MODE_STRICT || program != 0);
}
bool IsConfiningSeccomp(Word operation, Word program) {
  return operation == SECCOMP_SET_MODE_STRICT || (operation == SECCOMP_SET_MODE_FILTER && program != 0);
}
// What the kernel does for a process with one thread only.
bool NeedsOneThread(Word unshared) {
  return (unshared & (CLONE_NEWUSER | CLONE_THREAD | CLONE_SIGHAND | CLONE_VM)) != 0;
}
// The same for setns(2), to which a mount namespace belongs: all threads share a root directory.
bool IsForOneThread(Word entered) {
  constexpr Word kNewTime = 0x80;  // CLONE_NEWTIME, which older headers lack
  return entered == 0 || (entered & (CLONE_NEWUSER | CLONE_NEWNS | kNewTime)) != 0;
}

template <typename Call>
auto Confine(bool is_strict, Call call) {
  const MonitorPause pause = lagwatch::sdk::StopForConfinement(is_strict);
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

// Before main(): no later call of syscall(2) has to look up the real one, which a signal handler must not.
[[gnu::constructor]] void FindSyscall() { g_syscall.Find(); }

}  // namespace

#define LAGWATCH_REPLACES(name) __asm__(name) __attribute__((visibility("default")))

extern "C" {

int LagwatchPrctl(int option, Word a, Word b, Word c, Word d) LAGWATCH_REPLACES("prctl");
long LagwatchSyscall(Word number, Word a, Word b, Word c, Word d, Word e, Word f)
    LAGWATCH_REPLACES("syscall");
int LagwatchUnshare(int flags) LAGWATCH_REPLACES("unshare");
int LagwatchSetns(int fd, int type) LAGWATCH_REPLACES("setns");

int LagwatchPrctl(int option, Word a, Word b, Word c, Word d) {
  auto call = [=] {
    auto* real = g_prctl.Find();
    return real != nullptr ? real(option, a, b, c, d)
                           : static_cast<int>(lagwatch::sdk::RawSyscall(SYS_prctl, option, a, b, c, d, 0));
  };
  return IsConfiningPrctl(option, a, b) ? Confine(a == SECCOMP_MODE_STRICT, call) : call();
}

long LagwatchSyscall(Word number, Word a, Word b, Word c, Word d, Word e, Word f) {
  auto* real = g_syscall.found();
  if (real == nullptr) [[unlikely]]  // in another library's constructor
    real = &lagwatch::sdk::RawSyscall;
  const bool is_confining = (number == SYS_seccomp && IsConfiningSeccomp(a, c)) ||
                            (number == SYS_prctl && IsConfiningPrctl(static_cast<int>(a), b, c));
  const bool is_for_one = (number == SYS_unshare && NeedsOneThread(a)) ||
                          (number == SYS_setns && IsForOneThread(static_cast<int>(b)));
  auto call = [=] { return real(number, a, b, c, d, e, f); };
  if (is_confining) [[unlikely]]
    return Confine(number == SYS_prctl ? b == SECCOMP_MODE_STRICT : a == SECCOMP_SET_MODE_STRICT, call);
  if (is_for_one) [[unlikely]]
    return CallAlone(call);
  return real(number, a, b, c, d, e, f);
}

int LagwatchUnshare(int flags) {
  auto call = [=] {
    auto* real = g_unshare.Find();
    return real != nullptr ? real(flags)
                           : static_cast<int>(lagwatch::sdk::RawSyscall(SYS_unshare, flags, 0, 0, 0, 0, 0));
  };
  return NeedsOneThread(flags) ? CallAlone(call) : call();
}

int LagwatchSetns(int fd, int type) {
  auto call = [=] {
    auto* real = g_setns.Find();
    return real != nullptr ? real(fd, type)
                           : static_cast<int>(lagwatch::sdk::RawSyscall(SYS_setns, fd, type, 0, 0, 0, 0));
  };
  return IsForOneThread(type) ? CallAlone(call) : call();
}

}  // extern "C"
