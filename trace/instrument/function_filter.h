// SPDX-License-Identifier: Apache-2.0
// Selects the functions to instrument: by the rules, and by module, name and address. Context: background.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "trace/instrument/rules/function_names.h"
#include "trace/instrument/rules/instrument_rules.h"

namespace lagwatch::trace {

// Patterns are globs (MatchesGlob).
struct FunctionFilter {
  struct Range {
    uint64_t begin;
    uint64_t end;  // one past the last
  };

  // Of the module's file name without its folder: one that matches `deny_modules` is out; else it is in, if
  // it matches `allow_modules` or that is empty.
  std::vector<std::string> allow_modules = {};
  std::vector<std::string> deny_modules = {};
  // Of functions, by the name in the symbol table or by the one people read ("Save(Document&)"). The same
  // rule; a function without a name matches no pattern.
  std::vector<std::string> allow_functions = {};
  std::vector<std::string> deny_functions = {};
  // Of functions, by where they begin. The same rule, and all must let it in: names, addresses and `rules`.
  std::vector<Range> allow_addresses = {};
  std::vector<Range> deny_addresses = {};
  InstrumentRules rules = {};

  bool WantsModule(std::string_view path) const;
  bool WantsAddress(uint64_t address) const;
  // By the names and the rules. Without a symbol, functions match patterns of modules and places alone.
  bool WantsName(const RuledFunction& function) const;
  bool needs_names() const { return !allow_functions.empty() || !deny_functions.empty() || !rules.empty(); }
};

}  // namespace lagwatch::trace
