// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "stack/signal/thread_block.h"

namespace lagwatch::stack {

// Finds the layout out rather than assuming it: starts a thread on a stack of a known place and
// size, and looks for these two in its control block. Unknown unless they stand in exactly one
// place. Context: background.
ThreadBlockLayout FindThreadBlockLayout();

}  // namespace lagwatch::stack
