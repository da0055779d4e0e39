// SPDX-License-Identifier: Apache-2.0
// Distinguishes lagwatch's own code from the program's, and cuts it from stacks: the hooks between the
// program and its C library are not functions that the program called. All frames in a library of lagwatch
// are its own (Module::is_own); if lagwatch is linked into the program itself, those of the functions that
// were noted here, and of their callees in the same module.
#pragma once

#include "stack/code/module_map.h"
#include "stack/frames/stack.h"

namespace lagwatch::stack {

// Notes the start of a hook; at most some hundred can be. Thread safety: any thread. Context: any.
void NoteOwnFunction(const void* start);

// Context: watchdog.
void CutOwnFrames(const ModuleMap& modules, Stack* stack);

}  // namespace lagwatch::stack
