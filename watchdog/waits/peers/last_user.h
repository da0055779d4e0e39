// SPDX-License-Identifier: Apache-2.0
// The process that has used an object of System V last, which is all that the kernel records of semaphores
// and message queues. Linux. Context: watchdog.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/process/process.h"
#include "stack/threads/thread_state.h"

namespace lagwatch::watchdog {

// Of the semaphore or the queue that `thread`, which sleeps at `blocked`, waits for: for a message, the last
// sender. 0: not known, or `thread`'s own process.
int32_t FindLastUser(const base::Thread& thread, const stack::BlockedThread& blocked);

// A line of /proc/sysvipc/msg. Returns the last sender to the queue `id`, or the last receiver; 0 for the
// line of another one.
int32_t LastUserInLine(std::string_view line, uint64_t id, bool is_sender);

}  // namespace lagwatch::watchdog
