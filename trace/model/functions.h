// SPDX-License-Identifier: Apache-2.0
// Groups frames by function, with or without names. Context: background.
#pragma once

#include <cstdint>
#include <vector>

#include "trace/model/trace.h"

namespace lagwatch::trace {

// A number for each of trace.frames, equal where the function is: the same start in the same module, else the
// same name, else the same place. Functions inlined at one place have names of their own, and numbers.
std::vector<uint32_t> FunctionNumbers(const Trace& trace);

// The nodes of the stack that ends in `node`, outermost first, in *path. Links that lead nowhere end it.
void FindPath(const std::vector<StackNode>& nodes, size_t frame_count, uint32_t node,
              std::vector<uint32_t>* path);

}  // namespace lagwatch::trace
