// SPDX-License-Identifier: Apache-2.0
// The table of options as data, for documents and pages of the manual.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace lagwatch::tools {

struct OptionRow {
  std::string name;         // in lw_options
  std::string path;         // in lagwatch::Options
  std::string c_type;       // of the member of lw_options
  std::string cpp_type;     // of the member of lagwatch::Options
  std::string cpp_default;  // an initializer
  std::string standard;     // the default, for people; empty: none worth a word
  std::string range;        // likewise
  std::string help;         // Markdown
  bool is_switch = false;
  std::optional<std::string> run_default;  // of the flag of `lagwatch run`, if there is one

  // The name of the group in lagwatch::Options; empty for its own members.
  std::string group() const {
    return path.substr(0, path.find('.') == std::string::npos ? 0 : path.find('.'));
  }
  std::string member() const { return path.substr(path.rfind('.') + 1); }
};

struct OptionGroup {
  std::string name;  // empty for the members of lagwatch::Options itself
  std::string title;
  std::vector<OptionRow> rows;
};

// Without Markdown: a page's name gets the folder that it is in, other links become their text.
std::string PlainText(const std::string& markdown);

// In the order of lw_options; a row that was added later is in the last place of its group.
std::vector<OptionRow> OptionRows();
std::vector<OptionGroup> OptionGroups();

}  // namespace lagwatch::tools
