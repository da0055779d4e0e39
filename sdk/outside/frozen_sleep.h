// SPDX-License-Identifier: Apache-2.0
// The sleep of a thread of another process of which no loop is known: whether it is a freeze, and how long it
// has lasted, which the kernel knows also of the time before the first look. Context: background. Linux.
#pragma once

#include <cstdint>
#include <map>

#include "base/process/process.h"
#include "stack/threads/thread_state.h"

namespace lagwatch::sdk {

// Whether no thread idles there: it waits for a lock that another one has; or, in its `is_first_sleep`, which
// was under way at the first look, uninterruptibly, for a disk or a server of files.
bool SleepsWhereNoneIdles(const base::Thread& thread, const stack::BlockedThread& blocked,
                          bool is_first_sleep);

// The scheduler's clocks, of which each processor has its own. One object serves a single moment: they leave
// out the time that a virtual machine's host or interrupts take. Thread safety: one thread's.
class ProcessorClocks {
 public:
  // When the sleeping thread has run last (CLOCK_MONOTONIC), by the scheduler's own clock; now, where the
  // kernel does not say. The calling thread moves to the processor for a moment, once for each.
  int64_t AsleepSinceNs(const base::Thread& thread);

 private:
  // That processor's clock at `now_ns`; -1 if the calling thread may not run there.
  int64_t ClockAt(int processor, int64_t now_ns);

  std::map<int, int64_t> ahead_ns_;  // of CLOCK_MONOTONIC, by processor
};

}  // namespace lagwatch::sdk
