// SPDX-License-Identifier: Apache-2.0
// Finds the function that a name stands for in this process: the one that a call of it would reach. Context:
// background (takes the loader's lock).
#pragma once

#include <string_view>

#include "trace/hooks/hook_table.h"

namespace lagwatch::trace {

// Null when no module has it.
void* FindRealFunction(const char* name);

// Whether `version` of the hook's function is the real one. If that is unknown, sets `has_new` and returns
// false until FindVersions has been called. Takes no lock.
bool IsRealVersion(Hook* hook, std::string_view version, bool* has_new);
void FindVersions(Hook* hook);

}  // namespace lagwatch::trace
