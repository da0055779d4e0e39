// SPDX-License-Identifier: Apache-2.0
// The calling thread, as the system knows it.
#pragma once

#include <cstdint>

namespace lagwatch::base {

// The id by which this process names its threads: Linux's thread id, or the name of the thread's Mach port.
// Unique among the living threads of the process. Context: any, signal.
int32_t CurrentThreadId();

// At most 15 characters. Context: any but signals.
void NameCurrentThread(const char* name);

}  // namespace lagwatch::base
