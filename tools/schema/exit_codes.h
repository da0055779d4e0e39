// SPDX-License-Identifier: Apache-2.0
// The exit codes of the commands, from their table. Context: background; pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace lagwatch::tools {

struct ExitCodeRow {
  const char* command;  // empty: all that have no such row
  const char* code;     // a number, or "any"
  const char* meaning;
};

// All rows; those of a command follow each other.
const std::vector<ExitCodeRow>& ExitCodes();
// Those of one command: its own, and the others of all.
std::vector<ExitCodeRow> ExitCodesOf(std::string_view command);
// For people: the codes of all commands, then those of each that has others.
std::string ExitCodeText();

}  // namespace lagwatch::tools
