// SPDX-License-Identifier: Apache-2.0
// Finds the object that a sleeping call waits for, by its arguments: with it begins every search for the
// process or thread that could end the wait. Context: watchdog.
#pragma once

#include <cstdint>

#include "base/process/process.h"
#include "stack/threads/thread_state.h"

namespace lagwatch::watchdog {

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

// Of `thread`, which sleeps at `blocked`.
WaitObject ObjectOfWait(const base::Thread& thread, const stack::BlockedThread& blocked);

}  // namespace lagwatch::watchdog
