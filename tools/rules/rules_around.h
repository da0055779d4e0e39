// SPDX-License-Identifier: Apache-2.0
// Rules for the callers and callees of a cause, as its reports show them. Context: background.
#pragma once

#include <set>
#include <string>
#include <utility>

#include "base/status.h"
#include "tools/read/report_source.h"
#include "trace/instrument/rules/instrument_rules.h"

namespace lagwatch::tools {

struct CauseRules {
  // Takes the functions of the cause's stacks, all of them: those that lead to its function, and those that
  // it was seen to call.
  trace::InstrumentRules rules;
  // The cause's functions themselves, by module and name: the innermost of the program's own in each stack.
  std::set<std::pair<std::string, std::string>> functions;
};

// `cause` as `lagwatch clusters` has it in its last column. Errors: those of ReportSource; kNotFound if no
// report names a function.
base::Result<CauseRules> RulesAround(ReportSource* source, const std::string& cause);

}  // namespace lagwatch::tools
