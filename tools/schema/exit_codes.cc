// SPDX-License-Identifier: Apache-2.0
#include "tools/schema/exit_codes.h"

#include <algorithm>

namespace lagwatch::tools {

const std::vector<ExitCodeRow>& ExitCodes() {
  static const std::vector<ExitCodeRow> rows = {
#define EXIT_CODE(command, code, meaning) {command, code, meaning},
#include "tools/schema/exit_codes.def"
  };
  return rows;
}

std::vector<ExitCodeRow> ExitCodesOf(std::string_view command) {
  std::vector<ExitCodeRow> codes;
  for (const ExitCodeRow& row : ExitCodes())
    if (row.command == command) codes.push_back(row);
  for (const ExitCodeRow& row : ExitCodes()) {
    const bool is_known = std::ranges::any_of(
        codes, [&](const ExitCodeRow& own) { return std::string_view(own.code) == row.code; });
    if (*row.command == '\0' && !is_known) codes.push_back(row);
  }
  std::ranges::stable_sort(codes, {}, [](const ExitCodeRow& row) {
    const std::string_view code = row.code;
    return code == "any" ? std::string() : std::string(4 - code.size(), '0') + row.code;
  });
  return codes;
}

std::string ExitCodeText() {
  constexpr size_t kCodeWidth = 5;
  std::string text;
  std::string_view last = "-";
  for (const ExitCodeRow& row : ExitCodes()) {
    if (row.command != last)
      text += *row.command == '\0' ? "All commands\n" : "\nlagwatch " + std::string(row.command) + "\n";
    last = row.command;
    const std::string code = row.code;
    text += "  " + code + std::string(kCodeWidth - code.size(), ' ') + row.meaning + "\n";
  }
  return text;
}

}  // namespace lagwatch::tools
