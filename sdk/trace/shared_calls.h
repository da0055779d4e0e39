// SPDX-License-Identifier: Apache-2.0
// Connects the two libraries of lagwatch that a process may hold: parts named through the library that
// the program links are recorded by the preloaded one, which `lagwatch trace record` uses. Not part of
// the public interface.
#pragma once

#include <cstdint>

#define LAGWATCH_START_CALLS "lw_internal_start_calls"
#define LAGWATCH_STOP_CALLS "lw_internal_stop_calls"

extern "C" {

// Records calls into `pool`, a trace::BlockPoolHeader that stays mapped for ever. 0, and nothing
// happens, when `format` is not this library's trace::ArenaHeader::kMagic, or it records calls
// already. Context: background.
using lw_internal_start_calls_function = int (*)(uint64_t format, void* pool, int is_coarse);
// Ends what the other function has started. Context: background.
using lw_internal_stop_calls_function = void (*)(void);

}  // extern "C"
