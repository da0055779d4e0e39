// SPDX-License-Identifier: Apache-2.0
// A stopped thread of another process. Context: background. Linux.
#pragma once

#include <sys/types.h>

#include <csignal>
#include <cstdint>
#include <vector>

#include "tools/inject/call_registers.h"

namespace lagwatch::tools {

constexpr long kInNoSyscall = -2;

// The system call that a thread is in, by /proc/PID/task/TID/syscall.
struct ThreadSyscall {
  long number = -1;  // kInNoSyscall: it runs, or was stopped in its own code; -1: that cannot be seen
  uint64_t first_argument = 0;
  uint64_t stack_pointer = 0;  // 0: it runs
};
ThreadSyscall ReadSyscall(pid_t pid, pid_t tid);

enum class Stopping : uint8_t { kStopped, kEnded, kLate };

// Waits until the traced thread stops. `status` is waitpid's, of a thread that has stopped.
Stopping AwaitStop(pid_t tid, int64_t timeout_ns, int* status);

// The signal that the thread was about to get, which it is to get after all; 0 when we stopped it, or it
// stands still with its whole process.
int SignalOf(int status);
// Whether the thread stands still with its whole process.
bool IsGroupStop(int status);

// Lets the thread go on without a tracer, with this signal. One that was killed meanwhile is awaited: an exec
// of its process does not go on before its tracer has seen its end.
void Release(pid_t tid, int signal_number = 0);

// Whether the negated result of a system call is the kernel's own number for one that it makes again.
inline bool IsRestart(int64_t error) { return error >= 512 && error <= 516; }

// False if the thread has ended.
bool ReadRegisters(pid_t tid, ThreadRegisters* registers);
bool WriteRegisters(pid_t tid, ThreadRegisters registers);

// All that a stopped thread goes on with.
struct ThreadState {
  ThreadRegisters registers{};
  std::vector<char> vectors;  // and numbers with a point, which code around a system call may count on
  uint64_t signal_mask = 0;

  ThreadState();
  // False if the thread has ended.
  bool Read(pid_t tid);
  void Write(pid_t tid) const;
};

// Blocks signals for a call, except those that the call itself would raise.
void BlockSignalsForCall(pid_t tid);

// Whether a signal waits to be handled, which is to interrupt the thread's system call after its stop.
bool IsSignalDue(pid_t pid, pid_t tid, uint64_t signal_mask);

// No signal ends this program while a thread of another one is stopped in the middle of a call.
class ScopedSignalBlock {
 public:
  ScopedSignalBlock();
  ~ScopedSignalBlock();
  ScopedSignalBlock(const ScopedSignalBlock&) = delete;
  ScopedSignalBlock& operator=(const ScopedSignalBlock&) = delete;

 private:
  sigset_t before_;
};

// While a thread of another process is stopped, this one waits for no processor, where that is permitted.
// Elsewhere it asks for short turns, which come sooner (Linux 6.12), and rests first: the scheduler prefers
// threads that have slept to those that have computed.
class ScopedPriority {
 public:
  ScopedPriority();
  ~ScopedPriority();
  ScopedPriority(const ScopedPriority&) = delete;
  ScopedPriority& operator=(const ScopedPriority&) = delete;

 private:
  bool is_raised_;
};

}  // namespace lagwatch::tools
