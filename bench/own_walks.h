// SPDX-License-Identifier: Apache-2.0
// Walks of the calling thread's own stack, apart because all of this is built with frame pointers, so that
// the barest of walks can be compared with.
#pragma once

#include <cstddef>
#include <functional>

#include "stack/own_stack.h"

namespace lagwatch::bench {

// Calls `at_the_end` at the end of so many calls of functions of different shapes.
void DescendWithFramePointers(int depth, const std::function<void()>& at_the_end);

// Follows the saved frame pointers. Returns how many return addresses it found, at most `capacity`.
size_t WalkByFramePointers(uint64_t* program_counters, size_t capacity);
size_t WalkOwnStack(const stack::OwnStackWalker& walker, uint64_t* program_counters, size_t capacity);

}  // namespace lagwatch::bench
