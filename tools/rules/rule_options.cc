// SPDX-License-Identifier: Apache-2.0
#include "tools/rules/rule_options.h"

#include <CLI/CLI.hpp>
#include <utility>

#include "tools/commands.h"
#include "tools/rules/rules_around.h"

namespace lagwatch::tools {

void AddRulesOption(CLI::App* command, RuleOptions* options) {
  command->add_option(
      "--rules", options->file,
      "The rules of what is instrumented (default: instrument.rules beside the program, if it "
      "is there)");
}

void AddAroundOption(CLI::App* command, RuleOptions* options) {
  command->add_option("--around", options->around,
                      "Also take the callers and callees of this cause, the key in the last column of "
                      "`lagwatch clusters`");
  options->source.load_records = LoadSpoolRecords;
  options->source.symbol_worker = "/proc/self/exe";
  AddSourceFlags(command, &options->source);
}

base::Result<trace::InstrumentRules> RulesFor(const RuleOptions& options, const std::string& program) {
  trace::InstrumentRules rules;
  const std::string file = options.file.empty() ? trace::InstrumentRules::PathBeside(program) : options.file;
  if (!file.empty()) rules = LAGWATCH_TRY(trace::InstrumentRules::Read(file));
  if (options.around.empty()) return rules;
  const auto source = LAGWATCH_TRY(OpenSource(options.source));
  const CauseRules around = LAGWATCH_TRY(RulesAround(source.get(), options.around));
  for (const trace::InstrumentRule& rule : around.rules.rules()) rules.Add(rule);
  return rules;
}

}  // namespace lagwatch::tools
