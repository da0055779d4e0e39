// SPDX-License-Identifier: Apache-2.0
// The threads of another process, and the places where one may be stopped for a call. Context: background.
// Linux.
#pragma once

#include <sys/types.h>

#include <optional>
#include <vector>

#include "tools/inject/call_safety.h"

namespace lagwatch::tools {

// The main thread first. Empty if the process has ended.
std::vector<pid_t> ThreadsOf(pid_t pid);

// The place of a thread that is in this system call (ThreadSyscall::number). None: a call that is not safe to
// leave and make again.
std::optional<StoppedIn> PlaceOf(long syscall_number);

}  // namespace lagwatch::tools
