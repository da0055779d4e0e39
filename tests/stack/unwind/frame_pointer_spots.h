// SPDX-License-Identifier: Apache-2.0
// Functions that keep frame pointers, for a thread to be caught in.
#pragma once

#include <atomic>

namespace lagwatch::stack {

// Runs until `stop`, in functions of several sizes that call each other.
void RunWithFramePointers(const std::atomic<bool>& stop);

}  // namespace lagwatch::stack
