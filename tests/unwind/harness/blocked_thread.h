// SPDX-License-Identifier: Apache-2.0
// Captures threads that wait in the kernel, and compares their stacks with what they said
// of themselves before.
#pragma once

#include <span>

namespace lagwatch::unwind_test {

struct BlockingCall {
  const char* name;
  // Calls RecordCallers() and then, from the same function, something that does not return before
  // the process ends.
  void (*block)();
};

// Notes the calling thread's callers by glibc's backtrace(); `function` is the one that calls this.
void RecordCallers(void (*function)());

// Runs each call in a thread of its own that `start` is the first function of; a pthread_create()
// argument points to the call. Captures each thread many times and prints the account. True when all
// callers were right, every stack was complete, no call returned, and no signal was sent into a call that
// would not restart.
bool CheckBlockedThreads(const char* program, std::span<const BlockingCall> calls, void* (*start)(void*));

}  // namespace lagwatch::unwind_test
