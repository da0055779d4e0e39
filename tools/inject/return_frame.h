// SPDX-License-Identifier: Apache-2.0
// The state of a thread on its own stack, to which a function that it was made to call returns by itself: it
// need not be stopped again, so that this program may end at any time. Implemented once per processor, chosen
// by CMake. Context: background. Linux.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "tools/inject/loaded_libraries.h"
#include "tools/inject/traced_thread.h"

namespace lagwatch::tools {

struct ReturnFrame {
  uint64_t address;  // of its first word, to which the stack pointer points when the function begins
  std::string bytes;
};

// The address of the C library's code that returns from signal handlers, in process `pid`; 0 if there is
// none, or on a processor for which no such frame is known.
uint64_t FindSignalReturn(pid_t pid, const LoadedLibrary& libc);

// The frame by which a thread gets `state` back: a signal's. A system call that was interrupted is made
// again; with all of its time, unless it sleeps for a time and the kernel has written down the rest. It is
// below `stack_pointer`. None if the vectors' form is unknown, or if the call cannot be made again so.
std::optional<ReturnFrame> MakeReturnFrame(const ThreadState& state, uint64_t stack_pointer,
                                           uint64_t signal_return);

}  // namespace lagwatch::tools
