// SPDX-License-Identifier: Apache-2.0
#include "trace/instrument/function_filter.h"

#include <algorithm>

namespace lagwatch::trace {
namespace {

template <typename List, typename Matches>
bool LetsIn(const List& allow, const List& deny, Matches matches) {
  if (std::any_of(deny.begin(), deny.end(), matches)) return false;
  return allow.empty() || std::any_of(allow.begin(), allow.end(), matches);
}

}  // namespace

bool FunctionFilter::WantsModule(std::string_view path) const {
  const std::string_view file = path.substr(path.rfind('/') + 1);
  return rules.MayTakeIn(path) && LetsIn(allow_modules, deny_modules, [&](const std::string& pattern) {
           return MatchesGlob(pattern, file);
         });
}

bool FunctionFilter::WantsAddress(uint64_t address) const {
  return LetsIn(allow_addresses, deny_addresses,
                [&](const Range& range) { return address >= range.begin && address < range.end; });
}

bool FunctionFilter::WantsName(const RuledFunction& function) const {
  if (!needs_names()) return true;
  const FunctionNames names = FunctionNames::Of(function.symbol);
  const auto is_called = [&](const std::string& pattern) {
    return !names.symbol.empty() && (MatchesGlob(pattern, function.symbol) ||
                                     MatchesGlob(pattern, names.whole) || MatchesGlob(pattern, names.plain));
  };
  return LetsIn(allow_functions, deny_functions, is_called) && rules.Decide(function).is_taken;
}

}  // namespace lagwatch::trace
