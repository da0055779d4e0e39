// SPDX-License-Identifier: Apache-2.0
// The interface between the assembly code that patched functions run through and the functions that it calls.
#pragma once

#include <cstdint>

#include "trace/instrument/call_writer.h"

extern "C" {
// By thunk.
LAGWATCH_HIDDEN extern uint64_t lagwatch_originals[];
LAGWATCH_HIDDEN extern unsigned char lagwatch_thunks[];
// The target of the thunks' calls: continues at the original return address.
LAGWATCH_HIDDEN void lagwatch_return();
// Calls `function` with the first four arguments, and keeps all vector registers.
LAGWATCH_HIDDEN void lagwatch_call_saved(uint64_t, uint64_t, uint64_t, uint64_t,
                                         void (*function)(uint64_t, uint64_t, uint64_t, uint64_t));
// Called by the assembly code. lagwatch_on_entry: `slot` holds the return address of `function`, which
// begins. lagwatch_on_return: returns the original return address of the thunk's function.
LAGWATCH_HIDDEN LAGWATCH_UNTRACED void lagwatch_on_entry(uint64_t function, uint64_t* slot);
LAGWATCH_HIDDEN LAGWATCH_UNTRACED uint64_t lagwatch_on_return(uint64_t thunk_end);
}
