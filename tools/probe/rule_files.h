// SPDX-License-Identifier: Apache-2.0
// Rules for source files, for those that have no debug information at hand. Context: background.
#pragma once

#include <list>

#include "tools/probe/process_functions.h"
#include "trace/instrument/rules/instrument_rules.h"

namespace lagwatch::tools {

// The same rules with those for source files as places in the modules, too.
trace::InstrumentRules ResolveFiles(const trace::InstrumentRules& rules, std::list<ProcessModule>* modules);

}  // namespace lagwatch::tools
