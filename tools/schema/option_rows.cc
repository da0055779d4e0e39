// SPDX-License-Identifier: Apache-2.0
#include "tools/schema/option_rows.h"

#include <algorithm>
#include <cstdint>
#include <regex>
#include <string_view>
#include <utility>

#include "policies/options/option_flag.h"

namespace lagwatch::tools {
namespace {

using policies::FlagWith;
using policies::kFlag;
using policies::kNoFlag;
using policies::OptionFlag;

OptionRow Row(std::string name, std::string path, std::string help) {
  OptionRow row;
  row.name = std::move(name);
  row.path = std::move(path);
  row.help = std::move(help);
  return row;
}

OptionRow Typed(OptionRow row, std::string c_type, std::string cpp_type, std::string cpp_default) {
  row.c_type = std::move(c_type);
  row.cpp_type = std::move(cpp_type);
  row.cpp_default = std::move(cpp_default);
  return row;
}

OptionRow Described(OptionRow row, OptionFlag flag, std::string standard, std::string range) {
  if (flag.is_flag) row.run_default = flag.has_default ? std::to_string(flag.standard) : standard;
  row.standard = std::move(standard);
  row.range = std::move(range);
  return row;
}

std::string RangeOf(uint32_t least, uint32_t most, std::string_view special) {
  std::string range = most == UINT32_MAX ? "from " + std::to_string(least)
                                         : std::to_string(least) + " to " + std::to_string(most);
  if (!special.empty()) range.append("; ").append(special);
  return range;
}

OptionRow Switch(OptionRow row) {
  row.is_switch = true;
  return row;
}

std::string HookType(std::string type) { return type == "pointer" ? "void*" : type; }

std::vector<OptionGroup> EmptyGroups() {
  return {
#define OPTION_GROUP(name, title) {#name, title, {}},
#include "policies/options/options.def"
  };
}

}  // namespace

std::string PlainText(const std::string& markdown) {
  static const std::regex kPage(R"(\[[^\]]*\.md\]\(([^)#]*)[^)]*\))");
  static const std::regex kLink(R"(\[([^\]]*)\]\([^)]*\))");
  std::string text = std::regex_replace(std::regex_replace(markdown, kPage, "docs/$1"), kLink, "$1");
  std::erase(text, '`');
  return text;
}

std::vector<OptionRow> OptionRows() {
  return {
#define OPTION_TEXT(name, path, flag, standard, range, help) \
  Described(Typed(Row(#name, #path, help), "const char*", "std::string", "{}"), flag, standard, range),
#define OPTION_NUMBER(name, path, flag, standard, least, most, special, help)                   \
  Described(Typed(Row(#name, #path, help), "uint32_t", "uint32_t", #standard), flag, #standard, \
            RangeOf(least, most, special)),
#define OPTION_SWITCH(name, path, flag, help) \
  Switch(Described(Typed(Row(#name, #path, help), "uint32_t", "bool", "false"), flag, "0: off", "")),
#define OPTION_SIGNAL(name, path, flag, special, range, help) \
  Described(Typed(Row(#name, #path, help), "int32_t", "int32_t", "0"), flag, special, range),
#define OPTION_CHOICE(name, path, flag, type, standard, last, help) \
  Described(Typed(Row(#name, #path, help), "uint32_t", #type, #standard), flag, #standard, "an `" #type "`"),
#define OPTION_HOOK(name, path, type, help) \
  Described(Typed(Row(#name, #path, help), HookType(#type), HookType(#type), "{}"), kNoFlag, "none", ""),
#include "policies/options/options.def"
  };
}

std::vector<OptionGroup> OptionGroups() {
  std::vector<OptionGroup> groups = EmptyGroups();
  groups.front().name.clear();
  for (OptionRow& row : OptionRows()) {
    const auto group = std::ranges::find(groups, row.group(), &OptionGroup::name);
    group->rows.push_back(std::move(row));
  }
  return groups;
}

}  // namespace lagwatch::tools
