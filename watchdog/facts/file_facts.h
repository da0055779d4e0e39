// SPDX-License-Identifier: Apache-2.0
// The file system and the device of the file that a thread waits for, and the kernel's own words about that
// wait. The kernel is asked by /proc, /sys and, for a process that is watched from outside, its log; the file
// itself never. Context: watchdog, for a report only.
#pragma once

#include <cstdint>

#include "base/process/process.h"
#include "stack/threads/thread_state.h"
#include "watchdog/facts/kernel_log.h"
#include "watchdog/mounts/mounts.h"
#include "watchdog/spans/span_source.h"

namespace lagwatch::watchdog {

struct AwaitedFile {
  int32_t tid = 0;  // 0: nothing is known of it
  HungTask hung_task;
  Mount mount;                   // without a type: it is not known
  char device[32] = {};          // a block device, as in "sda1"; may be empty
  int64_t device_requests = -1;  // under way to it; -1: not known
};

// Of `thread`, if it waits for a file or its lock, or in uninterruptible sleep, in a call that names a file.
AwaitedFile FindAwaitedFile(const base::Thread& thread, const stack::ThreadFiles* files);

// The facts borrow the texts of `file`. `first_tid` is the report's thread; with `hides_peers` the name of
// the machine or process that serves the file system is left out, and the thread that has the kernel's lock.
void AddFileFacts(const AwaitedFile& file, int32_t first_tid, bool hides_peers, FactList* facts);

}  // namespace lagwatch::watchdog
