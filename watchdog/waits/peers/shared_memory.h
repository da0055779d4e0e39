// SPDX-License-Identifier: Apache-2.0
// Files that several processes have mapped, by /proc. Context: watchdog.
#pragma once

#include <cstdint>

#include "base/process/process.h"
#include "stack/threads/thread_state.h"

namespace lagwatch::watchdog {

// A file, by its device and inode as maps have them, "08:02 1234 "; empty: none.
struct SharedFile {
  char text[48] = {};

  bool IsNone() const { return text[0] == '\0'; }
};
// The file that the process has at `address`, shared with others.
SharedFile SharedFileAt(const base::Process& process, uint64_t address);
// Whether process `pid` has the file mapped; never without one.
bool MapsFile(int32_t pid, const SharedFile& file);

// The other processes that have the memory mapped with which the futex of `thread`, which sleeps at
// `blocked`, is shared: the number of them that are found within `budget_ns` (SearchClockNs), and the last
// one.
uint32_t FindSharers(const base::Thread& thread, const stack::BlockedThread& blocked, int64_t budget_ns,
                     int32_t* last_pid);

}  // namespace lagwatch::watchdog
