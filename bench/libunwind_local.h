// SPDX-License-Identifier: Apache-2.0
// The peer: libunwind walking the calling thread's own stack, apart because its local and remote interfaces
// exclude each other in one source.
#pragma once

#include <cstddef>

namespace lagwatch::bench {

// unw_backtrace(): libunwind's cached fast path. Returns how many frames it found.
size_t WalkWithBacktrace(void** frames, size_t capacity);
// unw_step() to the end, with the program counter of each frame.
size_t WalkWithSteps(void** frames, size_t capacity);
// The same from where a signal interrupted: `context` is the ucontext_t that its handler got.
size_t WalkContextWithSteps(void* context, void** frames, size_t capacity);

}  // namespace lagwatch::bench
