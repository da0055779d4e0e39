// SPDX-License-Identifier: Apache-2.0
// The length of a sleep so far, which the kernel knows also of the time before the first look at the thread,
// from `se.exec_start` of /proc/PID/task/TID/sched. Context: background. Linux.
#pragma once

#include <cstdint>
#include <map>
#include <optional>

#include "base/process/process.h"

namespace lagwatch::stack {

// The scheduler's clocks, of which each processor has its own. One object serves a single moment: they leave
// out the time that a virtual machine's host or interrupts take. Thread safety: one thread's.
class ProcessorClocks {
 public:
  // The time since the sleeping thread has run; nothing where the kernel does not say. The calling thread
  // moves to the processor for a moment, once for each.
  std::optional<int64_t> AsleepNs(const base::Thread& thread);

 private:
  // That processor's clock at `now_ns` (CLOCK_MONOTONIC); nothing if the calling thread may not run there.
  std::optional<int64_t> ClockAt(int processor, int64_t now_ns);

  std::map<int, int64_t> ahead_ns_;  // of CLOCK_MONOTONIC, by processor
};

}  // namespace lagwatch::stack
