// SPDX-License-Identifier: Apache-2.0
// Stops a thread of another process for a moment, in order to read it. Source: ptrace(2), PTRACE_SEIZE.
#pragma once

#include <cstdint>

#include "base/process/process.h"
#include "stack/frames/raw_stack.h"
#include "stack/frames/stack.h"

namespace lagwatch::stack {

// The thread goes on when this object, or the caller's process, ends. Only the thread that created it may use
// it. Context: watchdog.
class StoppedThread {
 public:
  // The thread must be running a moment ago: one in the kernel's uninterruptible sleep stops only after it.
  // Waits for `timeout_ns` at most; the destructor, until the thread has stopped and goes on.
  StoppedThread(int32_t tid, int64_t timeout_ns);
  ~StoppedThread();
  StoppedThread(const StoppedThread&) = delete;
  StoppedThread& operator=(const StoppedThread&) = delete;

  bool is_stopped() const { return is_stopped_; }
  // The reason if it is not.
  NoStackReason reason() const { return reason_; }
  bool ReadRegisters(Registers* registers) const;

 private:
  bool AwaitStop(int64_t timeout_ns);

  int32_t tid_;
  bool is_seized_ = false;
  bool is_stopped_ = false;
  int pending_signal_ = 0;  // that it was about to get
  NoStackReason reason_ = NoStackReason::kNone;
};

// The registers of a thread of a core file; false if it has no such thread. Context: any.
bool ReadSavedRegisters(const base::Thread& thread, Registers* registers);

}  // namespace lagwatch::stack
