// SPDX-License-Identifier: Apache-2.0
// A stopped thread of another process. Context: background. Linux.
#pragma once

#include <sys/types.h>

#include <csignal>
#include <cstdint>

#include "tools/inject/call_registers.h"

namespace lagwatch::tools {

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

}  // namespace lagwatch::tools
