// SPDX-License-Identifier: Apache-2.0
// The registers in a core file, and what they say of the thread's system call. Context: background; pure.
#pragma once

#include <cstdint>
#include <string>

#include "tools/core/core_thread.h"

namespace lagwatch::tools {

// The ELF machine of the cores that can be read: this machine's; 0 if none can.
uint16_t ReadableMachine();

// Whether the thread slept in a system call. The kernel marks a call that was cut short by the dump; one that
// had returned leaves its number there, too.
bool SleptInCall(const CoreThread& thread);
// As /proc/PID/task/TID/syscall, of one that did.
std::string CallText(const CoreThread& thread);
uint64_t StackPointerOf(const CoreThread& thread);
uint64_t ProgramCounterOf(const CoreThread& thread);

}  // namespace lagwatch::tools
