// SPDX-License-Identifier: Apache-2.0
// The names of a trace's calls and frames, and the frames' functions, with or without names. Context:
// background.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "trace/model/trace.h"

namespace lagwatch::trace {

// "mutex", "file" …; empty for kNone.
std::string_view NameOf(CallKind call);

// The function's name, or "module+0xoffset" as long as there is none.
std::string DisplayName(const Trace& trace, const NamedFrame& frame);

// The same, with the line of a function of a script: "import_orders (app.py:11)".
std::string DisplayPlace(const Trace& trace, const NamedFrame& frame);

// The same, with file and line of any frame that has them: "shop::Cart::Save (cart.cc:42)".
std::string DisplayWithLine(const Trace& trace, const NamedFrame& frame);

// A number for each of trace.frames, equal where the function is: the same start in the same module, else the
// same name, else the same place. Functions inlined at one place have names of their own, and numbers.
std::vector<uint32_t> FunctionNumbers(const Trace& trace);

// The id of a function in all builds of its module: of the module's name without its version, and the
// demangled name with its parameters. Never 0. Stable: it may be stored.
uint64_t StableFunctionId(std::string_view module_path, std::string_view signature);

// The nodes of the stack that ends in `node`, outermost first, in *path. Links that lead nowhere end it.
void FindPath(const std::vector<StackNode>& nodes, size_t frame_count, uint32_t node,
              std::vector<uint32_t>* path);

}  // namespace lagwatch::trace
