// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>

#include "collector/cluster/named_stacks.h"

namespace lagwatch::collector {
namespace {

bool IsWordByte(char byte) {
  return (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') || (byte >= '0' && byte <= '9') ||
         byte == '_' || byte == '$';
}

// The end of the operator's name at `at`: past `operator()`, `operator<<`, `operator new`.
size_t EndOfOperator(std::string_view text, size_t at) {
  constexpr std::array<std::string_view, 26> kSigns = {
      "<=>", "<<=", ">>=", "->*", "()", "[]", "<<", ">>", "<=", ">=", "->", "++", "--",
      "&&",  "||",  "==",  "!=",  "+=", "-=", "*=", "/=", "%=", "&=", "|=", "^=", " "};
  at += std::string_view("operator").size();
  std::string_view rest = text.substr(at);
  auto sign = std::find_if(kSigns.begin(), kSigns.end(), [&](auto each) { return rest.starts_with(each); });
  return std::min(text.size(), at + (sign == kSigns.end() ? 1 : sign->size()));
}

bool IsOperator(std::string_view text, size_t at) {
  constexpr std::string_view kWord = "operator";
  return text.substr(at).starts_with(kWord) && (at == 0 || !IsWordByte(text[at - 1])) &&
         (at + kWord.size() == text.size() || !IsWordByte(text[at + kWord.size()]));
}

// Past the bracket that closes the one at `at`.
size_t EndOfGroup(std::string_view text, size_t at) {
  int depth = 0;
  while (at < text.size()) {
    if (IsOperator(text, at)) {
      at = EndOfOperator(text, at);
      continue;
    }
    char byte = text[at++];
    bool is_arrow = byte == '>' && at >= 2 && text[at - 2] == '-';
    if (byte == '<' || byte == '(' || byte == '[' || byte == '{') ++depth;
    if ((byte == '>' && !is_arrow) || byte == ')' || byte == ']' || byte == '}') --depth;
    if (depth <= 0) break;
  }
  return at;
}

// Without template arguments and parameters, Rust's `::<…>` included.
std::string WithoutGroups(std::string_view text) {
  constexpr std::string_view kAnonymous = "(anonymous namespace)";
  std::string name;
  for (size_t at = 0; at < text.size();) {
    if (IsOperator(text, at)) {
      size_t end = EndOfOperator(text, at);
      name += text.substr(at, end - at);
      at = end;
    } else if (text.substr(at).starts_with(kAnonymous)) {
      name += kAnonymous;
      at += kAnonymous.size();
    } else if ((text[at] == '<' && !name.empty()) || text[at] == '(') {
      at = EndOfGroup(text, at);
      if (name.ends_with("::") && (at == text.size() || text.substr(at).starts_with("::")))
        name.resize(name.size() - 2);
    } else {
      name += text[at++];
    }
  }
  while (name.ends_with(' ')) name.pop_back();
  return name;
}

// Whether a lambda's or closure's part of a name begins here: `::{lambda(int)#1}`, clang's `::$_0`, Rust's
// `::{closure#0}` and `::{{closure}}`.
bool IsLambda(std::string_view text) {
  constexpr std::array<std::string_view, 5> kMarks = {"::{lambda", "::{closure", "::{{closure", "::'lambda",
                                                      "::(anonymous class)"};
  constexpr std::string_view kOfClang = "::$_";
  if (text.starts_with(kOfClang) && text.size() > kOfClang.size())
    return text[kOfClang.size()] >= '0' && text[kOfClang.size()] <= '9';
  return std::ranges::any_of(kMarks, [&](std::string_view mark) { return text.starts_with(mark); });
}

// The begin of the name's own lambda, not of one among its template's arguments; npos without one.
size_t FindLambda(std::string_view text) {
  for (size_t at = 0; at < text.size();) {
    if (IsLambda(text.substr(at))) return at;
    if (IsOperator(text, at)) {
      at = EndOfOperator(text, at);
    } else {
      at = text[at] == '<' || text[at] == '(' ? EndOfGroup(text, at) : at + 1;
    }
  }
  return std::string_view::npos;
}

// `<shop::Index as shop::Handler>::handle` becomes `shop::Index::handle`, but `<i32 as
// core::fmt::Display>::fmt`, of a built-in type, becomes `core::fmt::Display::fmt`.
std::string WithoutTrait(std::string_view text) {
  if (!text.starts_with('<')) return std::string(text);
  size_t end = EndOfGroup(text, 0);
  if (end < 2 || !text.substr(end).starts_with("::")) return std::string(text);
  constexpr std::string_view kAs = " as ";
  std::string_view type = text.substr(1, end - 2);
  std::string_view trait;
  if (size_t as = type.rfind(kAs); as != type.npos) {
    trait = type.substr(as + kAs.size());
    type = type.substr(0, as);
  }
  for (std::string_view mark : {"&", "mut "}) {
    if (type.starts_with(mark)) type.remove_prefix(mark.size());
  }
  bool is_nobodys = type.find("::") == type.npos && !trait.empty();
  return std::string(is_nobodys ? trait : type) + std::string(text.substr(end));
}

// The function with the lambda that a std::function, a std::thread or a std::packaged_task calls, which is
// among the arguments of its template. Empty when it calls none.
std::string_view CallerOfLambda(std::string_view text) {
  constexpr std::array<std::string_view, 3> kCallers = {
      "std::_Function_handler<", "std::thread::_State_impl<", "std::__future_base::_Task_state<"};
  if (std::ranges::none_of(kCallers, [&](std::string_view one) { return text.starts_with(one); })) return {};
  size_t end = 0;
  while (end < text.size() && !IsLambda(text.substr(end))) ++end;
  if (end == text.size()) return {};
  size_t begin = end;
  for (int depth = 0; begin > 0; --begin) {
    const char before = text[begin - 1];
    if (before == '>' || before == ')') ++depth;
    if ((before == '<' || before == '(') && --depth < 0) break;
    if (before == ',' && depth == 0) break;
  }
  while (begin < end && text[begin] == ' ') ++begin;
  return text.substr(begin, end - begin);
}

}  // namespace

std::string CauseName(std::string_view readable) {
  std::string_view text = readable;
  if (std::string_view caller = CallerOfLambda(text); !caller.empty()) text = caller;
  if (size_t lambda = FindLambda(text); lambda != text.npos && lambda > 0) text = text.substr(0, lambda);
  if (size_t version = text.find('@'); version != text.npos && version > 0) text = text.substr(0, version);
  std::string name = WithoutGroups(WithoutTrait(text));
  return name.empty() ? std::string(readable) : name;
}

std::string CauseModule(std::string_view file_name) {
  size_t suffix = file_name.find(".so");
  if (suffix == file_name.npos) return std::string(file_name);
  std::string_view stem = file_name.substr(0, suffix);
  size_t end = stem.find_last_not_of("0123456789.");
  if (end != stem.npos && stem[end] == '-') stem = stem.substr(0, end);
  return std::string(stem) + ".so";
}

}  // namespace lagwatch::collector
