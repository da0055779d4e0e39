// SPDX-License-Identifier: Apache-2.0
// The options of commands that instrument: which rules hold. Context: background.
#pragma once

#include <string>

#include "base/status.h"
#include "tools/read/source_flags.h"
#include "trace/instrument/rules/instrument_rules.h"

namespace CLI {
class App;
}

namespace lagwatch::tools {

struct RuleOptions {
  std::string file;    // empty: "instrument.rules" beside the program, if it is there
  std::string around;  // a cause; empty: none
  SourceFlags source;  // of the cause's reports
};

// Declares --rules; `options` must outlive the parsing.
void AddRulesOption(CLI::App* command, RuleOptions* options);
// Declares --around, and the options of its reports' source.
void AddAroundOption(CLI::App* command, RuleOptions* options);

// The rules that hold for `program` (a path), those around the cause behind the file's. Errors: those of
// InstrumentRules::Read() and RulesAround().
base::Result<trace::InstrumentRules> RulesFor(const RuleOptions& options, const std::string& program);

}  // namespace lagwatch::tools
