// SPDX-License-Identifier: Apache-2.0
#include "tools/probe/rule_files.h"

#include <cstdint>
#include <set>

#include "tools/probe/debug_types.h"

namespace lagwatch::tools {

trace::InstrumentRules ResolveFiles(const trace::InstrumentRules& rules, std::list<ProcessModule>* modules) {
  if (!rules.HasFiles()) return rules;
  const DebugTypes types(nullptr);
  trace::InstrumentRules resolved;
  for (const trace::InstrumentRule& rule : rules.rules()) {
    resolved.Add(rule);  // the first one also says what happens to the rest
    if (rule.kind != trace::RuleKind::kFile) continue;
    for (ProcessModule& module : *modules) {
      const std::set<uint64_t> found = types.FunctionsOfFile(&module, rule.pattern);
      if (found.empty() || module.build_id().empty()) continue;
      resolved.Add({.takes = rule.takes,
                    .kind = trace::RuleKind::kPlaces,
                    .pattern = module.build_id(),
                    .line = rule.line,
                    .text = rule.text,
                    .offsets = {found.begin(), found.end()}});
    }
  }
  return resolved;
}

}  // namespace lagwatch::tools
