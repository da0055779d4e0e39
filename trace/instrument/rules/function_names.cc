// SPDX-License-Identifier: Apache-2.0
#include "trace/instrument/rules/function_names.h"

#include <cxxabi.h>

#include <algorithm>
#include <cstdlib>

namespace lagwatch::trace {
namespace {

constexpr std::string_view kCloneSuffixes[] = {".constprop", ".isra", ".part", ".cold", ".lto_priv", ".llvm"};
constexpr std::string_view kAnonymous = "(anonymous namespace)::";
constexpr std::string_view kOperator = "operator";

std::string_view WithoutSuffixes(std::string_view symbol) {
  symbol = symbol.substr(0, std::min(symbol.find('@', 1), symbol.size()));
  size_t end = symbol.size();
  for (const std::string_view suffix : kCloneSuffixes) end = std::min(end, symbol.find(suffix, 1));
  return symbol.substr(0, std::min(end, symbol.size()));
}

std::string Demangled(const std::string& symbol) {
  int status = -1;
  char* text = abi::__cxa_demangle(symbol.c_str(), nullptr, nullptr, &status);
  std::string name = status == 0 && text != nullptr ? text : symbol;
  std::free(text);
  return name;
}

bool IsNameByte(char byte) {
  return (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') || (byte >= '0' && byte <= '9') ||
         byte == '_';
}

// Without "(…)", and the qualifiers behind it.
std::string_view WithoutParameters(std::string_view whole) {
  const size_t close = whole.rfind(')');
  if (close == std::string_view::npos) return whole;
  // Behind it are qualifiers alone: " const", " &&"; else it is part of a name.
  if (whole.find("::", close) != std::string_view::npos || whole.find('>', close) != std::string_view::npos)
    return whole;
  int depth = 0;
  for (size_t at = close + 1; at-- > 0;) {
    if (whole[at] == ')') ++depth;
    if (whole[at] == '(' && --depth == 0) return at == 0 ? whole : whole.substr(0, at);
  }
  return whole;
}

// Templates have it: "int Find<int>".
std::string_view WithoutReturnType(std::string_view name) {
  int depth = 0;
  size_t begin = 0;
  for (size_t at = 0; at < name.size(); ++at) {
    const bool is_operator =
        depth == 0 && name.substr(at, kOperator.size()) == kOperator &&
        (at == 0 || !IsNameByte(name[at - 1])) &&
        (at + kOperator.size() == name.size() || !IsNameByte(name[at + kOperator.size()]));
    if (is_operator) break;  // the rest is the name of the operator
    if (name[at] == '<' || name[at] == '(' || name[at] == '[' || name[at] == '{') ++depth;
    if (name[at] == '>' || name[at] == ')' || name[at] == ']' || name[at] == '}') --depth;
    if (name[at] == ' ' && depth == 0) begin = at + 1;
  }
  return name.substr(begin);
}

}  // namespace

FunctionNames FunctionNames::Of(std::string_view symbol) {
  FunctionNames names;
  names.symbol = WithoutSuffixes(symbol);
  names.whole = Demangled(names.symbol);
  names.plain = names.whole;
  if (names.whole == names.symbol) return names;
  names.plain = WithoutReturnType(WithoutParameters(names.whole));
  for (size_t at = names.plain.find(kAnonymous); at != std::string::npos; at = names.plain.find(kAnonymous))
    names.plain.erase(at, kAnonymous.size());
  return names;
}

bool MatchesModule(std::string_view pattern, std::string_view path) {
  const std::string_view file = path.substr(path.rfind('/') + 1);
  if (pattern.empty() || MatchesGlob(pattern, file)) return true;
  const size_t end = file.find(".so");
  return end != std::string_view::npos && MatchesGlob(pattern, file.substr(0, end));
}

bool MatchesSourceFile(std::string_view pattern, std::string_view path) {
  if (path.empty() || pattern.empty()) return false;
  if (MatchesGlob(pattern, path) || MatchesGlob(pattern, path.substr(path.rfind('/') + 1))) return true;
  return pattern.front() != '/' && pattern.front() != '*' && MatchesGlob("*/" + std::string(pattern), path);
}

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

}  // namespace lagwatch::trace
