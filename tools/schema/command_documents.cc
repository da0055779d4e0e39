// SPDX-License-Identifier: Apache-2.0
#include "tools/schema/documents.h"
#include "tools/schema/exit_codes.h"

namespace lagwatch::tools {
namespace {

std::string CommandsPage(const std::string& before) {
  std::string table = "\n| command | code | |\n|---|---|---|\n";
  for (const ExitCodeRow& row : ExitCodes()) {
    const std::string command = row.command;
    table += "| " + (command.empty() ? "all" : "`" + command + "`") + " | " + row.code + " | " + row.meaning +
             " |\n";
  }
  return WithPart(before, "<!-- exit codes -->\n", "<!-- end of exit codes -->", table + "\n");
}

}  // namespace

std::vector<Document> CommandDocuments() {
  return {{"docs/commands.md", "tools/schema/exit_codes.def", &CommandsPage}};
}

}  // namespace lagwatch::tools
