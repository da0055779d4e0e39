// SPDX-License-Identifier: Apache-2.0
// The kernel's view of a thread, without disturbing it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/process/process.h"
#include "stack/threads/thread_files.h"

namespace lagwatch::base {
struct SystemCall;
}

namespace lagwatch::stack {

// /proc/self/task/TID/syscall: where a thread sleeps in the kernel.
struct BlockedThread {
  // -1 when it is blocked without a system call, as in a page fault. Of a wait that goes on after an
  // interruption (restart_syscall), that wait's.
  int64_t syscall_number;
  uint64_t arguments[6];
  uint64_t stack_pointer;
  uint64_t program_counter;

  bool operator==(const BlockedThread&) const = default;

  // The call's properties: base/system/system_calls.h. Linux. Context: any; pure, as the next two.
  const base::SystemCall& call() const;
  // Whether the call ends by itself after some time. Linux.
  bool HasTimeLimit() const;
  // The command of a futex(2), without its flags; -1 in another call. Linux.
  int FutexCommand() const;

  // Whether a handler installed with SA_RESTART can interrupt that call without the program noticing: only
  // calls that signal(7) lists as restarted, and only where no timeout makes them an exception.
  bool RestartsAfterSignal() const;
};

enum class ThreadActivity {
  kRunning,
  kBlocked,
  // Sleeps or is stopped, but the kernel does not let the process read where: the file belongs to root in a
  // process that has changed its user id and is not dumpable, or /proc is not there.
  kHidden,
  kGone,
};

// Fills `blocked` when the answer is kBlocked. Context: watchdog.
ThreadActivity ReadThreadActivity(const base::Thread& thread, BlockedThread* blocked);

// A wait that was interrupted once (by SIGSTOP and SIGCONT, a freezer of control groups, a debugger, a stop
// of lagwatch's own) goes on as restart_syscall(2), which says nothing of the call that it continues. That
// call's arguments are still in the registers; only its number is lost. Gives `blocked`, of `thread`, the
// number of the call that it continues; leaves it as it is where it continues none, or where nothing says
// which. ReadThreadActivity() has done so. Context: watchdog.
void NameRestartedCall(const base::Thread& thread, BlockedThread* blocked);

// Whether the handler knows the number of an interrupted call that the C library lets be cancelled: since
// glibc 2.41 these share one system call instruction. Context: watchdog.
bool CanRepeatCancellableCalls();

// Whether a hidden thread sleeps in a call that a handler installed with SA_RESTART can interrupt without the
// program noticing, by the kernel's function that it waits in: wait4, flock, reads of pipes, futexes. A futex
// with an absolute timeout is made again by the handler (stack/signal/call_restart.h), and one with a
// relative timeout returns EINTR, which futex(2) allows at any time. Context: watchdog.
bool RestartsHiddenAfterSignal(const base::Thread& thread);

// The same by a descriptor of the thread's activity, if it is one. Context: watchdog.
ThreadActivity ReadThreadActivity(const base::Thread& thread, int activity_fd, BlockedThread* blocked);
// By the descriptor in `files`, which may be null, if there is one. Context: watchdog.
ThreadActivity ReadThreadActivity(const base::Thread& thread, const ThreadFiles* files,
                                  BlockedThread* blocked);

// Whether the thread has `signal_number` blocked; true when that cannot be found out. Context: watchdog.
bool IsSignalBlocked(const base::Thread& thread, int signal_number);

// The kernel's letter for the thread's state (R, S, D, T, Z …), '?' when it is gone. Context: watchdog.
char ReadThreadStateLetter(const base::Thread& thread);

// The function of the kernel that the thread sleeps in, cut to fit, always terminated; empty when it does not
// sleep or the kernel does not say. Context: watchdog.
void ReadWaitChannel(const base::Thread& thread, char* channel, uint64_t size_bytes);
// The function's name without what compilers append to it (".constprop.0").
std::string_view FunctionOfChannel(std::string_view channel);

// The process id of the process's tracer, such as a debugger; 0 without one. Context: watchdog.
int ReadTracer(const base::Process& process);

// The thread's name without its line end, always terminated. Context: watchdog.
void ReadThreadName(const base::Thread& thread, char* name, uint64_t size_bytes);

}  // namespace lagwatch::stack
