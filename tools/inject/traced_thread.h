// SPDX-License-Identifier: Apache-2.0
// A stopped thread of another process. Context: background. Linux.
#pragma once

#include <sys/types.h>

#include <csignal>
#include <cstdint>

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

// False if the thread has ended.
bool ReadRegisters(pid_t tid, ThreadRegisters* registers);
bool WriteRegisters(pid_t tid, ThreadRegisters registers);

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
