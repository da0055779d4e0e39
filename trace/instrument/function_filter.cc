// SPDX-License-Identifier: Apache-2.0
#include "trace/instrument/function_filter.h"

#include <cxxabi.h>

#include <algorithm>
#include <cstdlib>

namespace lagwatch::trace {
namespace {

template <typename List, typename Matches>
bool LetsIn(const List& allow, const List& deny, Matches matches) {
  if (std::any_of(deny.begin(), deny.end(), matches)) return false;
  return allow.empty() || std::any_of(allow.begin(), allow.end(), matches);
}

std::string Demangled(const std::string& symbol) {
  int status = -1;
  char* text = abi::__cxa_demangle(symbol.c_str(), nullptr, nullptr, &status);
  std::string name = status == 0 && text != nullptr ? text : "";
  std::free(text);
  return name;
}

}  // namespace

bool MatchesGlob(std::string_view pattern, std::string_view text) {
  size_t at = 0;
  size_t in_text = 0;
  size_t star = std::string_view::npos;  // the last one, and how far the text had been read there
  size_t star_text = 0;
  while (in_text < text.size()) {
    if (at < pattern.size() && pattern[at] == '*') {
      star = at++;
      star_text = in_text;
    } else if (at < pattern.size() && (pattern[at] == '?' || pattern[at] == text[in_text])) {
      ++at;
      ++in_text;
    } else if (star != std::string_view::npos) {
      at = star + 1;
      in_text = ++star_text;
    } else {
      return false;
    }
  }
  while (at < pattern.size() && pattern[at] == '*') ++at;
  return at == pattern.size();
}

bool FunctionFilter::WantsModule(std::string_view path) const {
  const std::string_view file = path.substr(path.rfind('/') + 1);
  return LetsIn(allow_modules, deny_modules,
                [&](const std::string& pattern) { return MatchesGlob(pattern, file); });
}

bool FunctionFilter::WantsAddress(uint64_t address) const {
  return LetsIn(allow_addresses, deny_addresses,
                [&](const Range& range) { return address >= range.begin && address < range.end; });
}

bool FunctionFilter::WantsName(const std::string& symbol) const {
  if (!needs_names()) return true;
  const std::string demangled = Demangled(symbol);
  return LetsIn(allow_functions, deny_functions, [&](const std::string& pattern) {
    return !symbol.empty() && (MatchesGlob(pattern, symbol) || MatchesGlob(pattern, demangled));
  });
}

}  // namespace lagwatch::trace
