// SPDX-License-Identifier: Apache-2.0
// Selects the functions to record: by module, by name and by address. Context: background.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace lagwatch::trace {

// In patterns '*' stands for any run of bytes, also of none, and '?' for any byte.
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
  // Of functions, by where they begin. The same rule, and both must let it in: names and addresses.
  std::vector<Range> allow_addresses = {};
  std::vector<Range> deny_addresses = {};

  bool WantsModule(std::string_view path) const;
  bool WantsAddress(uint64_t address) const;
  // `symbol` as in the symbol table; empty when there is none.
  bool WantsName(const std::string& symbol) const;
  bool needs_names() const { return !allow_functions.empty() || !deny_functions.empty(); }
};

bool MatchesGlob(std::string_view pattern, std::string_view text);

}  // namespace lagwatch::trace
