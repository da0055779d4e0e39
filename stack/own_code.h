// SPDX-License-Identifier: Apache-2.0
// Tells lagwatch's own code from the program's, and cuts it from stacks: the hooks that stand between the
// program and its C library are no functions that the program called. All frames in a library of lagwatch's
// are its own (Module::is_own); where lagwatch is linked into the program itself, those of the functions that
// were noted here, and of what these call in the same module.
#pragma once

#include "stack/module_map.h"
#include "stack/stack.h"

namespace lagwatch::stack {

// Notes the start of a hook; at most some hundred can be. Thread safety: any thread. Context: any.
void NoteOwnFunction(const void* start);

// Context: watchdog.
void CutOwnFrames(const ModuleMap& modules, Stack* stack);

}  // namespace lagwatch::stack
