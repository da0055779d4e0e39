// SPDX-License-Identifier: Apache-2.0
#include "tests/tools/trace/top_pages.h"

#include <algorithm>
#include <regex>
#include <sstream>

namespace lagwatch::testing {

std::optional<TopRow> TopPage::Find(const std::string& function) const {
  const auto row = std::ranges::find(rows, function, &TopRow::function);
  return row == rows.end() ? std::nullopt : std::optional(*row);
}

TopPage ParseTopPage(const std::string& text) {
  static const std::regex kHead(R"(\S.* \((\d+)\), .* samples/s, ([\d.]+) % CPU)");
  static const std::regex kRow(R"( *([\d.]+) +([\d.]+)  (cpu|wait|both) +(.*?)(  .*)?)");
  static const std::regex kLine(R"( \([^ ]+\.(cc|c|h|S):\d+\)$)");
  TopPage page;
  page.text = text;
  std::istringstream lines(text);
  std::smatch match;
  for (std::string line; std::getline(lines, line);) {
    if (!line.empty() && line.back() == '\r') line.pop_back();
    if (std::regex_match(line, match, kHead)) {
      page.pid = static_cast<pid_t>(std::stol(match[1]));
      page.processor_percent = std::stod(match[2]);
    } else if (std::regex_match(line, match, kRow)) {
      // Scripts' functions alone are named with their files.
      const std::string function = std::regex_replace(match[4].str(), kLine, "");
      page.rows.push_back({std::stod(match[1]), std::stod(match[2]), match[3], function});
    }
  }
  return page;
}

std::vector<TopPage> ParseTopPages(const std::string& text) {
  static const std::regex kBegin(R"((^|\n)\S.* \(\d+\), .* CPU\n)");
  std::vector<size_t> begins;
  for (std::sregex_iterator at(text.begin(), text.end(), kBegin), end; at != end; ++at)
    begins.push_back(static_cast<size_t>(at->position()));
  begins.push_back(text.size());
  std::vector<TopPage> pages;
  for (size_t i = 0; i + 1 < begins.size(); ++i)
    pages.push_back(ParseTopPage(text.substr(begins[i], begins[i + 1] - begins[i])));
  return pages;
}

std::vector<std::string> TopCommand(const std::vector<std::string>& flags) {
  std::vector<std::string> command = {LAGWATCH_PROGRAM, "trace", "top"};
  command.insert(command.end(), flags.begin(), flags.end());
  return command;
}

}  // namespace lagwatch::testing
