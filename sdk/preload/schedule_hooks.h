// SPDX-License-Identifier: Apache-2.0
// Notes of calls that changed how a thread is scheduled.
#pragma once

#include <cstdint>

namespace lagwatch::sdk {

// The calling thread has changed the scheduling of thread `tid` (0: its own) by `call`, a static text, which
// returns to `return_address`. Keeps errno. Context: any but a signal handler's.
void NoteScheduling(const char* call, int32_t tid, const void* return_address);

}  // namespace lagwatch::sdk
