// SPDX-License-Identifier: Apache-2.0
// The calling thread, as the system knows it.
#pragma once

#include <cstddef>
#include <cstdint>

namespace lagwatch::base {

// The id by which this process names its threads: Linux's thread id, or the name of the thread's Mach port.
// Unique among the living threads of the process. Context: any, signal.
int32_t CurrentThreadId();

// At most 15 characters. Context: any but signals.
void NameCurrentThread(const char* name);

// At most the bytes that the C library takes from the stack that a thread is started with: the program's
// thread-local variables, of any size, are there. Context: any.
size_t ThreadLocalBytes();

}  // namespace lagwatch::base
