// SPDX-License-Identifier: Apache-2.0
// The compiler's flags for the functions that rules take. Context: background; pure.
#pragma once

#include <string>
#include <vector>

#include "tools/instrument/function_list.h"
#include "trace/instrument/rules/instrument_rules.h"

namespace lagwatch::tools {

struct CompilerFlags {
  std::vector<std::string> patch;  // room for the run-time patcher, in all functions; rules hold later
  std::vector<std::string> hooks;  // GCC's: hooks in what the rules take
  // Functions that the rules leave out, and those flags cannot: every text that is in such a name is also in
  // one that the rules take, or they are too many.
  std::vector<std::string> hooked_too;
};

CompilerFlags FlagsFor(const FunctionList& list, const trace::InstrumentRules& rules);

}  // namespace lagwatch::tools
