// SPDX-License-Identifier: Apache-2.0
// Searches /proc for processes, without allocation. Context: watchdog.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/process/proc_file.h"
#include "base/process/process.h"
#include "stack/threads/thread_state.h"

namespace lagwatch::watchdog {

// The clock of searches: the processor time of the calling thread. On a busy machine a search is not given up
// because others have run meanwhile.
int64_t SearchClockNs();

// The process's name, as the kernel has it; empty if it is unknown.
void ReadProcessName(int32_t pid, char* name, size_t size_bytes);

// Whether it is one of lagwatch's own, by its name.
bool IsLagwatchsThread(const base::Thread& thread);

// Whether another thread of the process than `thread` runs, or will by itself: it could do what that one
// should. Lagwatch's own do not count, nor do those that sleep for a limited time while `is_idle(other)`.
template <typename IsIdle>
bool HasOtherActiveThread(const base::Thread& thread, IsIdle is_idle) {
  bool is_active = false;
  base::ForEachThread(thread.process, [&](int tid) {
    const base::Thread other{thread.process, tid};
    if (other == thread || IsLagwatchsThread(other)) return true;
    stack::BlockedThread blocked;
    is_active = stack::ReadThreadActivity(other, &blocked) != stack::ThreadActivity::kBlocked ||
                (blocked.HasTimeLimit() && !is_idle(other));
    return !is_active;
  });
  return is_active;
}

// Children of the process: those of `thread` or, where it has none, of any thread, as far as they are
// found within `budget_ns` of that clock. Returns their number, and the pid of the last one started.
uint32_t FindChildren(const base::Thread& thread, int64_t budget_ns, int32_t* last_pid);

// All children of the process, as far as there is room.
std::span<const int32_t> ListChildren(const base::Process& process, std::span<int32_t> room);

}  // namespace lagwatch::watchdog
