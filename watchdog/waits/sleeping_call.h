// SPDX-License-Identifier: Apache-2.0
// The call that a thread sleeps in, by the table of system calls (base/system/system_calls.def) and its
// arguments: with it begins every search for the process or thread that could end the wait. Context:
// watchdog.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "base/process/process.h"
#include "stack/threads/thread_state.h"
#include "watchdog/waits/wait_set.h"

namespace lagwatch::watchdog {

// The set that the call waits for; none of another call.
std::optional<WaitSet> SetOf(const stack::BlockedThread& blocked);

// Copies the descriptors of a set of the thread's, also of an epoll, and returns those that fit into `room`;
// of a poll(2), of the first WaitSet::kMaxPolled, and of an epoll, of the first two pages of its file in
// /proc.
std::span<const int> ReadSet(const base::Thread& thread, const WaitSet& set, std::span<int> room);

struct WaitObject {
  enum class Kind : uint8_t {
    kNone,        // nothing that its arguments name
    kChild,       // `number` is its id in /proc; 0: any
    kFileLock,    // of the file that is open as descriptor `number`
    kDescriptor,  // `number`, alone or the only one of a set: a pipe, a socket, a process's pidfd
    kFutex,       // at the address that is the call's first argument
  };
  Kind kind = Kind::kNone;
  int32_t number = 0;
};

// The object that `thread`, which sleeps at `blocked`, waits for.
WaitObject ObjectOfWait(const base::Thread& thread, const stack::BlockedThread& blocked);

}  // namespace lagwatch::watchdog
