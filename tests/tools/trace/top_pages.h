// SPDX-License-Identifier: Apache-2.0
// Parses the output of `lagwatch trace top`.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

namespace lagwatch::testing {

struct TopRow {
  double self_percent = 0;
  double total_percent = 0;
  std::string kind;
  std::string function;  // without the line of a symbol file
};

struct TopPage {
  std::string text;
  pid_t pid = 0;
  double processor_percent = 0;
  std::vector<TopRow> rows;

  // None where the page does not show it.
  std::optional<TopRow> Find(const std::string& function) const;
};

// The page in `text`, which has no escape sequences.
TopPage ParseTopPage(const std::string& text);
// All of what was printed without a terminal.
std::vector<TopPage> ParseTopPages(const std::string& text);

// `lagwatch trace top FLAGS…`.
std::vector<std::string> TopCommand(const std::vector<std::string>& flags);

}  // namespace lagwatch::testing
