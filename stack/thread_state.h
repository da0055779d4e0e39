// SPDX-License-Identifier: Apache-2.0
// What the kernel says of a thread of this process without disturbing it.
#pragma once

#include <cstdint>

namespace lagwatch::stack {

// /proc/self/task/TID/syscall: where a thread sleeps in the kernel.
struct BlockedThread {
  int64_t syscall_number;  // -1 when it is blocked without a system call, as in a page fault
  uint64_t arguments[6];
  uint64_t stack_pointer;
  uint64_t program_counter;

  bool operator==(const BlockedThread&) const = default;

  // Whether a handler installed with SA_RESTART can interrupt that call without the program noticing: only
  // calls that signal(7) lists as restarted, and only where no timeout makes them an exception.
  bool RestartsAfterSignal() const;
};

enum class ThreadActivity { kRunning, kBlocked, kGone };

// Fills `blocked` when the answer is kBlocked. Context: watchdog.
ThreadActivity ReadThreadActivity(int tid, BlockedThread* blocked);

// A descriptor for who asks about a thread often, and has a table of descriptors of its own
// (base::HasOwnFiles): the caller closes it. -1 when there is none. Context: watchdog.
int OpenThreadActivity(int tid);
// The same by that descriptor, if it is one. Context: watchdog.
ThreadActivity ReadThreadActivity(int tid, int activity_fd, BlockedThread* blocked);

// Whether thread `tid` has `signal_number` blocked; true when that cannot be found out. Context: watchdog.
bool IsSignalBlocked(int tid, int signal_number);

// The kernel's letter for the thread's state (R, S, D, T, Z …), '?' when it is gone. Context: watchdog.
char ReadThreadStateLetter(int tid);

// The function of the kernel that the thread sleeps in, cut to fit, always terminated; empty when it does not
// sleep or the kernel does not say. Context: watchdog.
void ReadWaitChannel(int tid, char* channel, uint64_t size_bytes);

// Who traces this process, as a debugger does: its process id; 0 when nobody does. Context: watchdog.
int ReadTracer();

// The thread's name without its line end, always terminated. Context: watchdog.
void ReadThreadName(int tid, char* name, uint64_t size_bytes);

}  // namespace lagwatch::stack
