// SPDX-License-Identifier: Apache-2.0
// Detects the end of a patched function: replaces its return address with that of a thunk, one for each
// call under way. The thunks' unwind table has the original address, so that exceptions, thread
// cancellation, debuggers and other readers of such tables continue through it;
// docs/design/trace_instrument.md has the details.
#pragma once

#include <cstdint>

extern "C" {
// Called in place of a patched function's nops, in no calling convention; never call them.
__attribute__((visibility("hidden"))) void lagwatch_entry();
__attribute__((visibility("hidden"))) void lagwatch_entry_after_landing_pad();
}

namespace lagwatch::trace {

// The most calls under way in all threads, and in one, whose end is noticed; of others only the beginning is.
inline constexpr uint32_t kMaxThunks = 32768;
inline constexpr uint32_t kMaxThunksPerThread = 1024;

struct ReturnStats {
  uint64_t returns_unnoticed = 0;  // no thunk was free
  uint64_t thunks_in_use = 0;      // given to threads, or lost with one
};

// Makes the thunks executable; false where the system forbids that. Idempotent. Context: background.
bool PrepareReturnThunks();

// Returns the original return address for `address`, or `address` itself if it is no thunk's. For unwinders
// that do not read the thunks' unwind table (stack/signal/replaced_returns.h); while the function is still
// under way. Context: any.
uint64_t OriginalReturnAddress(uint64_t address);

// Since the process began. Context: any.
ReturnStats ReturnThunkStats();

}  // namespace lagwatch::trace
