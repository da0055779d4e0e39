// SPDX-License-Identifier: Apache-2.0
// Jumps by which functions end. One file per processor. Context: background, while the module cannot be
// unloaded; takes no lock of the loader's.
#pragma once

#include <cstdint>

#include "trace/instrument/probes/probed_modules.h"

namespace lagwatch::trace {

// Whether the function [begin, end) may end in a jump, also by the linker's table, to one that reads its
// return address: dlopen() looks up there in whose name it opens. Jumps to addresses that are computed are
// not followed, nor those to functions that are not bound yet, except dlopen() and similar ones.
bool JumpsToReader(const ProbedModule& module, uint64_t begin, uint64_t end);

}  // namespace lagwatch::trace
