// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cctype>
#include <stdexcept>
#include <string_view>
#include <utility>

#include "tools/schema/documents.h"
#include "tools/schema/flag_names.h"
#include "tools/schema/option_rows.h"

namespace lagwatch::tools {
namespace {

constexpr size_t kColumns = 107;
constexpr std::string_view kCommentEnd = " */";
constexpr std::string_view kGenerated = "Written by lagwatch-schema from policies/options/options.def.";

std::string Lowered(std::string text) {
  if (!text.empty()) text[0] = static_cast<char>(std::tolower(static_cast<unsigned char>(text[0])));
  return text;
}

// "Default 2000; 16 to 3600000."
std::string Values(const OptionRow& row) {
  if (row.is_switch) return {};
  std::string values = "Default: " + PlainText(row.standard);
  if (!row.range.empty()) values += "; " + PlainText(row.range);
  return values + ".";
}

std::string CComment(const OptionRow& row) {
  std::string text = PlainText(row.help);
  if (row.is_switch) text = "Not 0: " + Lowered(text);
  if (const std::string values = Values(row); !values.empty()) text += " " + values;
  return Wrapped(text + " */", "  /* ", "   * ") + "\n";
}

std::string COptionsHeader(const std::string&) {
  std::string text = "/* SPDX-License-Identifier: Apache-2.0 */\n/* The monitor's options. ";
  text.append(kGenerated)
      .append(
          " */\n"
          "#ifndef LAGWATCH_C_OPTIONS_H_\n#define LAGWATCH_C_OPTIONS_H_\n\n"
          "#include <lagwatch/c_types.h>\n\n"
          "/* Filled in by lw_options_init(). Values outside of their range are clamped to it; switches are "
          "off (0) by\n"
          " * default. */\n"
          "typedef struct lw_options {\n  size_t struct_size_bytes;\n");
  const std::vector<OptionGroup> groups = OptionGroups();
  std::string_view last = "-";
  for (const OptionRow& row : OptionRows()) {
    const auto group = std::ranges::find(groups, row.group(), &OptionGroup::name);
    if (group->name != last)
      text += "\n" + Wrapped("" + PlainText(group->title) + ". */", "  /* -- ", "   * ") + "\n";
    last = group->name;
    text += CComment(row) + "  " + row.c_type + " " + row.name + ";\n";
  }
  return text + "} lw_options;\n\n#endif /* LAGWATCH_C_OPTIONS_H_ */\n";
}

std::string StructName(const std::string& group) {
  std::string name = group;
  name[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(name[0])));
  return name + "Options";
}

// The members of a struct, with the comments of neighbours aligned.
std::string CppMembers(const std::vector<OptionRow>& rows) {
  std::vector<std::pair<std::string, std::string>> lines;  // each with its comment
  for (const OptionRow& row : rows) {
    const bool is_explained = !row.range.empty() && !row.cpp_type.starts_with("lw_");
    lines.emplace_back("  " + row.cpp_type + " " + row.member() + " = " + row.cpp_default + ";",
                       is_explained ? PlainText(row.range) : "");
  }
  std::string text;
  for (size_t begin = 0; begin < lines.size();) {
    size_t end = begin;
    size_t width = 0;
    for (; end < lines.size() && !lines[end].second.empty(); ++end)
      width = std::max(width, lines[end].first.size());
    for (; begin < end; ++begin) {
      const auto& [member, comment] = lines[begin];
      text += member + std::string(width - member.size() + 2, ' ') + "// " + comment + "\n";
    }
    if (begin < lines.size()) text += lines[begin++].first + "\n";
  }
  return text;
}

std::string HeaderOpening(std::string_view what, std::string_view includes) {
  return "// SPDX-License-Identifier: Apache-2.0\n// " + std::string(what) + "\n// " +
         std::string(kGenerated) + "\n#pragma once\n\n" + std::string(includes) +
         "\nnamespace lagwatch {\n\n";
}

std::string OptionGroupsHeader(const std::string&) {
  std::string text =
      HeaderOpening("The groups of lagwatch::Options. lw_options has the meanings.",
                    "#include <lagwatch/c_options.h>\n\n#include <cstdint>\n#include <string>\n");
  for (const OptionGroup& group : OptionGroups()) {
    if (group.name.empty()) continue;
    text +=
        Wrapped(PlainText(group.title) + ".", "// ", "// ") + "\nstruct " + StructName(group.name) + " {\n";
    text += CppMembers(group.rows) + "};\n\n";
  }
  return text + "}  // namespace lagwatch\n";
}

// The value of the member of lw_options.
std::string RawValue(const OptionRow& row) {
  const std::string value = "options." + row.path;
  if (row.cpp_type == "std::string") return value + ".c_str()";
  return row.is_switch ? value + " ? 1 : 0" : value;
}

std::string OptionsHeader(const std::string&) {
  std::string text = HeaderOpening(
      "The monitor's options for C++: first those that most programs set, then groups of others.",
      "#include <lagwatch/c_options.h>\n#include <lagwatch/option_groups.h>\n\n#include <cstdint>\n#include "
      "<string>\n");
  text += "// lw_options has the meanings. An empty string selects the default.\nstruct Options {\n";
  for (const OptionGroup& group : OptionGroups())
    if (group.name.empty()) text += CppMembers(group.rows);
  for (const OptionGroup& group : OptionGroups())
    if (!group.name.empty()) text += "  " + StructName(group.name) + " " + group.name + " = {};\n";
  text +=
      "};\n\n// The texts are those of `options`.\n"
      "inline lw_options ToRaw(const Options& options) noexcept {\n"
      "  lw_options raw = {};\n  raw.struct_size_bytes = sizeof raw;\n";
  for (const OptionRow& row : OptionRows()) text += "  raw." + row.name + " = " + RawValue(row) + ";\n";
  return text + "  return raw;\n}\n\n}  // namespace lagwatch\n";
}

std::string Escaped(std::string cell) {
  for (size_t at = 0; (at = cell.find('|', at)) != std::string::npos; at += 2) cell.insert(at, "\\");
  return cell;
}

// Of identifiers, code.
std::string CodeIfNamed(const std::string& text) { return text.starts_with("LW_") ? "`" + text + "`" : text; }

std::string OptionTables() {
  std::string text;
  for (const OptionGroup& group : OptionGroups()) {
    text += "**" + group.title +
            ".**\n\n| Option | In C++ | Default | Range | Meaning |\n|---|---|---|---|---|\n";
    for (const OptionRow& row : group.rows) {
      text += "| `" + row.name + "` | `" + row.path + "` | " + CodeIfNamed(row.standard) + " | " + row.range +
              " | " + Escaped(row.help) + " |\n";
    }
    text += "\n";
  }
  return text;
}

// A flag has the last word of an enumerator: "path" for LW_EXPENSIVE_PATH.
std::string FlagValue(const std::string& standard) {
  if (!standard.starts_with("LW_")) return standard;
  std::string word = standard.substr(standard.rfind('_') + 1);
  std::ranges::transform(word, word.begin(), [](unsigned char c) { return std::tolower(c); });
  return "`" + word + "`";
}

std::string RunTable() {
  std::string text = "| Flag | Variable | Default | Meaning |\n|---|---|---|---|\n";
  for (const OptionRow& row : OptionRows()) {
    if (!row.run_default) continue;
    text += "| `" + FlagName(row.name) + "` | `" + FlagVariable(row.name) + (row.is_switch ? "`: 1" : "`") +
            " | " + FlagValue(*row.run_default) + " | " + Escaped(HelpLine(row.help)) + "." + " |\n";
  }
  return text + "\n";
}

std::string RemoteTable() {
  std::string text = "| Key | Default | Range | Takes effect | Meaning |\n|---|---|---|---|---|\n";
  const auto add = [&](const std::string& name, const std::string& standard, const std::string& range,
                       const std::string& when, const std::string& help) {
    text += "| `" + name + "` | " + standard + " | " + range + " | " + when + " | " + Escaped(help) + " |\n";
  };
#define REMOTE_NUMBER(name, standard, least, most, when, help) \
  add(#name, standard, #least " to " #most, when, help);
#define REMOTE_OTHER(name, standard, range, when, help) add(#name, standard, range, when, help);
#include "policies/options/remote_keys.def"
  return text + "\n";
}

std::string WithTable(const std::string& page, const std::string& name, const std::string& table) {
  return WithPart(page, "<!-- " + name + " -->\n", "<!-- end of " + name + " -->", "\n" + table);
}

std::string ConfigurationPage(const std::string& before) {
  std::string page = WithTable(before, "options", OptionTables());
  page = WithTable(page, "flags", RunTable());
  return WithTable(page, "keys", RemoteTable());
}

}  // namespace

std::string Wrapped(const std::string& text, std::string first, const std::string& next) {
  std::string lines;
  std::string line = std::move(first);
  bool is_begun = false;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find(' ', begin), text.size());
    const std::string word = text.substr(begin, end - begin);
    // The end of a comment does not stand alone.
    const size_t room = end + kCommentEnd.size() == text.size() ? kCommentEnd.size() : 0;
    if (is_begun && word != "*/" && line.size() + 1 + word.size() + room > kColumns) {
      lines += line + "\n";
      line = next;
      is_begun = false;
    }
    if (is_begun) line += " ";
    line += word;
    is_begun = true;
    begin = end + 1;
  }
  return lines + line;
}

std::string WithPart(const std::string& text, std::string_view begin, std::string_view end,
                     const std::string& part) {
  const size_t first = text.find(begin);
  const size_t last = first == std::string::npos ? first : text.find(end, first + begin.size());
  if (last == std::string::npos) throw std::runtime_error("no place is marked by: " + std::string(begin));
  return text.substr(0, first + begin.size()) + part + text.substr(last);
}

std::vector<Document> OptionDocuments() {
  constexpr const char* kTable = "policies/options/options.def";
  return {{"sdk/include/lagwatch/c_options.h", kTable, COptionsHeader},
          {"sdk/include/lagwatch/option_groups.h", kTable, OptionGroupsHeader},
          {"sdk/include/lagwatch/options.h", kTable, OptionsHeader},
          {"docs/configuration.md", kTable, ConfigurationPage}};
}

}  // namespace lagwatch::tools
