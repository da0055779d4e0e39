// SPDX-License-Identifier: Apache-2.0
// The kernel's counters of a thread, from the thread's beginning on. Reading them does
// not disturb the thread.
#pragma once

#include <cstdint>
#include <string_view>

#include "stack/threads/thread_files.h"

namespace lagwatch::stack {

struct ThreadStat {
  char state = '?';     // the kernel's letter
  int64_t user_ns = 0;  // in the scheduler's ticks, as the next one
  int64_t kernel_ns = 0;
  int64_t block_io_ns = 0;  // 0 unless the system accounts for delays
  int64_t minor_faults = 0;
  int64_t major_faults = 0;
  int64_t start_boot_ns = 0;  // when the thread started, in the scheduler's ticks; 0 on Darwin
};
// False when the thread is gone. `files` may be null. Context: watchdog (reads a file of /proc).
bool ReadThreadStat(const base::Thread& thread, ThreadStat* stat, const ThreadFiles* files = nullptr);

// They change only when the thread runs.
struct SchedulerCounters {
  int64_t run_queue_ns = 0;  // waits for a processor that are over; exact
  int64_t voluntary_switches = 0;
  int64_t involuntary_switches = 0;
};
// Returns false if the thread is gone, or if the kernel does not report its switches; the time in the queue
// is 0 if it is not reported. Context: watchdog (reads two files of /proc).
bool ReadSchedulerCounters(const base::Thread& thread, SchedulerCounters* counters,
                           const ThreadFiles* files = nullptr);
// The first of them alone; -1 when the kernel does not say. Context: watchdog (reads a file of /proc).
int64_t ReadRunQueueNs(const base::Thread& thread, const ThreadFiles* files = nullptr);
// The number of times that it was given a processor; -1 when the kernel does not say. `counters_fd` is the
// thread's ThreadFile::kCounters. Context: watchdog (one system call).
int64_t ReadTurns(int counters_fd);

// The number of its calls that read or write files, sockets or pipes; -1 when the kernel does not say.
// Context: watchdog (reads a file of /proc). Linux.
int64_t ReadIoCalls(const base::Thread& thread);

// The number of times, and the total time, that the control groups of a thread were without quota: its
// own and those around it, as far as visible. Both 0 without a quota.
struct ThrottleCounters {
  int64_t times = 0;
  int64_t throttled_ns = 0;  // of all processors; a period counts when it is over
};
// Context: watchdog (reads a file per level).
ThrottleCounters ReadThrottleCounters(const base::Thread& thread);
// The same of threads that are in the same groups: those of /proc/PID/cgroup, which is `groups`. Linux.
ThrottleCounters ReadThrottleCountersOf(std::string_view groups);

}  // namespace lagwatch::stack
