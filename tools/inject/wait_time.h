// SPDX-License-Identifier: Apache-2.0
// The time that a thread's wait has lasted: one that is made again shall end when it would have ended.
// Context: background. Linux.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>

#include "tools/inject/address_space.h"
#include "tools/inject/call_registers.h"

namespace lagwatch::tools {

// Known where the kernel shows the scheduler's times (/proc/PID/sched).
class WaitTime {
 public:
  // Looks at a thread that waits, before it is stopped. The calling thread moves to its processor for a
  // moment.
  WaitTime(pid_t pid, pid_t tid);

  // Until `end_ns`, when the thread was stopped, if nothing else has woken it: never more than it is. None if
  // that is not known.
  std::optional<int64_t> LastedNs(int64_t end_ns) const;

 private:
  pid_t pid_;
  pid_t tid_;
  int64_t looked_ns_ = 0;
  std::optional<int64_t> lasted_ns_;  // at the look
  int64_t runs_ = 0;                  // on a processor, since its start
};

// Sets the arguments of an interrupted system call of the C library's so that it waits for the rest of its
// time, and not for the whole of it. A time in memory is written to `scratch`, which nothing else uses until
// the call is made again.
void ShortenWait(const AddressSpace& space, long syscall_number, int64_t lasted_ns, uint64_t scratch,
                 ThreadRegisters* registers);

}  // namespace lagwatch::tools
