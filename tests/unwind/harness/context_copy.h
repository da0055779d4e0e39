// SPDX-License-Identifier: Apache-2.0
// What a signal handler was given, as the capture would hand it to an unwinder.
#pragma once

#include "stack/module_map.h"
#include "stack/raw_stack.h"

namespace lagwatch::unwind_test {

// Copies the registers and the live stack of the context that the handler on this very thread interrupted.
// Context: signal.
void CopyContext(const void* context, const stack::ModuleMap& modules, stack::RawStack* raw);

}  // namespace lagwatch::unwind_test
