// SPDX-License-Identifier: Apache-2.0
// Walks a stack by frame pointers alone: for systems on which every function keeps one, such as Darwin.
// Limits: a leaf function without a frame record hides its caller unless it is at its first instruction or
// its return, a signal handler's frame ends the walk, and frames have no start of their function.
#pragma once

#include <memory>

#include "stack/code/unwinder.h"

namespace lagwatch::stack {

// Has no thread and no tables. Context: background.
std::unique_ptr<Unwinder> CreateFramePointerUnwinder();

}  // namespace lagwatch::stack
