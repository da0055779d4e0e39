// SPDX-License-Identifier: Apache-2.0
// A signal handler's context, as the capture would pass it to an unwinder.
#pragma once

#include "stack/code/module_map.h"
#include "stack/code/unwinder.h"
#include "stack/frames/raw_stack.h"

namespace lagwatch::unwind_test {

// Copies the registers and the live stack of the context that the handler on this very thread
// interrupted. Context: signal.
void CopyContext(const void* context, const stack::ModuleMap& modules, stack::RawStack* raw);

// Unwinds the calling thread until that is complete, for some seconds at most: the tables of a program
// without an index to them are read from its file in the background.
void AwaitTables(const stack::ModuleMap& modules, stack::Unwinder* unwinder);

}  // namespace lagwatch::unwind_test
