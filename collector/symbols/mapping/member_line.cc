// SPDX-License-Identifier: Apache-2.0
#include "collector/symbols/mapping/member_line.h"

#include <algorithm>
#include <charconv>

namespace lagwatch::collector {
namespace {

constexpr std::string_view kArrow = " -> ";

std::string_view Trim(std::string_view text) {
  const size_t begin = text.find_first_not_of(" \t");
  if (begin == text.npos) return {};
  return text.substr(begin, text.find_last_not_of(" \t") + 1 - begin);
}

// Takes a number off the beginning of `text`.
std::optional<uint64_t> TakeNumber(std::string_view* text) {
  uint64_t number = 0;
  const auto [end, error] = std::from_chars(text->data(), text->data() + text->size(), number);
  if (error != std::errc()) return std::nullopt;
  text->remove_prefix(static_cast<size_t>(end - text->data()));
  return number;
}

bool Take(std::string_view* text, char wanted) {
  if (!text->starts_with(wanted)) return false;
  text->remove_prefix(1);
  return true;
}

// Some compilers wrote the numbers of a range in the wrong order.
LineRange RangeOf(uint64_t first, uint64_t second) {
  return {std::min(first, second), std::max(first, second)};
}

// `FIRST:LAST:` or `FIRST:` before a method.
std::optional<LineRange> TakeRange(std::string_view* text) {
  const auto first = TakeNumber(text);
  if (!first || !Take(text, ':')) return std::nullopt;
  const auto last = TakeNumber(text);
  if (!last) return LineRange{*first, *first};
  return Take(text, ':') ? std::optional(RangeOf(*first, *last)) : std::nullopt;
}

// `:FIRST:LAST`, `:FIRST` or nothing after one.
std::optional<LineRange> ReadOriginalRange(std::string_view text) {
  if (!Take(&text, ':')) return std::nullopt;
  const auto first = TakeNumber(&text);
  if (!first) return std::nullopt;
  if (!Take(&text, ':')) return LineRange{*first, *first};
  const auto last = TakeNumber(&text);
  return last ? std::optional(RangeOf(*first, *last)) : std::nullopt;
}

std::optional<MemberLine> ReadMember(std::string_view line) {
  const size_t arrow = line.rfind(kArrow);
  if (arrow == line.npos) return std::nullopt;
  MemberLine member;
  member.renamed = Trim(line.substr(arrow + kArrow.size()));
  std::string_view left = Trim(line.substr(0, arrow));
  member.lines = TakeRange(&left);
  const size_t type_end = left.find(' ');
  const size_t parameters = left.find('(');
  const size_t parameters_end = left.rfind(')');
  if (type_end == left.npos || parameters == left.npos || parameters_end == left.npos ||
      type_end > parameters || parameters > parameters_end)
    return std::nullopt;
  member.original = ReadOriginalRange(left.substr(parameters_end + 1));
  member.name = Trim(left.substr(type_end, parameters - type_end));
  if (const size_t dot = member.name.rfind('.'); dot != member.name.npos) {
    member.owner = member.name.substr(0, dot);
    member.name.remove_prefix(dot + 1);
  }
  return member.name.empty() ? std::nullopt : std::optional(member);
}

bool IsMadeUp(std::string_view comment) {
  return comment.find("\"com.android.tools.r8.synthesized\"") != comment.npos ||
         comment.find("\"com.android.tools.r8.outline\"") != comment.npos;
}

}  // namespace

std::string_view TakeLine(std::string_view* text) {
  const size_t end = text->find('\n');
  std::string_view line = text->substr(0, end);
  text->remove_prefix(end == text->npos ? text->size() : end + 1);
  if (line.ends_with('\r')) line.remove_suffix(1);
  return line;
}

std::optional<ClassLine> ReadClassLine(std::string_view line) {
  const size_t arrow = line.find(kArrow);
  if (arrow == line.npos || !line.ends_with(':')) return std::nullopt;
  const ClassLine read{line.substr(0, arrow),
                       line.substr(arrow + kArrow.size(), line.size() - arrow - kArrow.size() - 1)};
  const auto is_name = [](std::string_view name) {
    return !name.empty() && name.find_first_of(" \t(") == name.npos;
  };
  return is_name(read.original) && is_name(read.renamed) ? std::optional(read) : std::nullopt;
}

std::vector<MemberLine> ReadMembers(std::string_view body, std::string_view renamed) {
  std::vector<MemberLine> members;
  bool is_after_member = false;  // one of `members`: a comment is about it
  while (!body.empty()) {
    const std::string_view line = Trim(TakeLine(&body));
    if (line.starts_with('#')) {
      if (is_after_member) members.back().is_made_up |= IsMadeUp(line);
      continue;
    }
    is_after_member = false;
    if (!line.ends_with(renamed)) continue;
    const auto member = ReadMember(line);
    if (!member || member->renamed != renamed) continue;
    members.push_back(*member);
    is_after_member = true;
  }
  return members;
}

std::string_view ReadSourceFile(std::string_view body) {
  constexpr std::string_view kKey = "\"fileName\":";
  while (!body.empty()) {
    const std::string_view line = Trim(TakeLine(&body));
    if (!line.starts_with('#')) return {};
    const size_t key = line.find(kKey);
    if (key == line.npos || line.find("\"sourceFile\"") == line.npos) continue;
    std::string_view value = Trim(line.substr(key + kKey.size()));
    if (!Take(&value, '"')) continue;
    value = value.substr(0, value.find('"'));
    if (value.find('\\') == value.npos) return value;
  }
  return {};
}

}  // namespace lagwatch::collector
