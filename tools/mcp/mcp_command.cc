// SPDX-License-Identifier: Apache-2.0
#include <CLI/CLI.hpp>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include "tools/commands.h"
#include "tools/mcp/mcp_server.h"
#include "tools/mcp/mcp_tools.h"
#include "tools/read/source_flags.h"

namespace lagwatch::tools {
namespace {

struct McpOptions : SourceFlags {
  std::vector<std::string> source_directories = {"."};
};

// Without its end. Of a line over kMaxMcpLineBytes one byte more than these is kept. False at the end of the
// input.
bool ReadLine(std::string* line) {
  line->clear();
  std::streambuf* input = std::cin.rdbuf();
  int c = input->sbumpc();
  if (c == std::char_traits<char>::eof()) return false;
  for (; c != '\n' && c != std::char_traits<char>::eof(); c = input->sbumpc())
    if (line->size() <= kMaxMcpLineBytes) *line += static_cast<char>(c);
  return true;
}

int Serve(const McpOptions& options) {
  const McpContext context{.open_source = [&] { return OpenSource(options); },
                           .source_lines = SourceLines(options.source_directories)};
  const McpServer server(McpTools(&context), LAGWATCH_VERSION,
                         "lagwatch finds the code that froze programs. Begin with causes, or with why for a "
                         "process that is frozen now.");
  std::ios::sync_with_stdio(false);
  std::string line;
  while (std::cout && ReadLine(&line)) {
    const std::string answer = server.Answer(line);
    if (!answer.empty()) std::cout << answer << "\n" << std::flush;
  }
  return 0;
}

}  // namespace

void AddMcpCommand(CLI::App* app, const LoadRecords& load_records, const std::string& symbol_worker,
                   int* exit_code) {
  auto options = std::make_shared<McpOptions>();
  options->load_records = load_records;
  options->symbol_worker = symbol_worker;
  CLI::App* mcp =
      app->add_subcommand("mcp", "Answer agents by the Model Context Protocol, on stdin and stdout");
  mcp->footer(
      "Tools: why, causes, cause, report, compare. All of them only read. Reports come from a collector, or "
      "from "
      "a\n"
      "spool. Source lines are shown only of files in the directories of --source.\n\n"
      "  lagwatch mcp --endpoint https://hangs.example.org --token TOKEN --source ~/src/editor");
  AddSourceFlags(mcp, options.get());
  AddDebuginfodFlag(mcp, options.get());
  mcp->add_option("--source", options->source_directories,
                  "Directories of source files, whose lines are shown in reports; default: the current one");
  mcp->callback([options, exit_code] { *exit_code = Serve(*options); });
}

}  // namespace lagwatch::tools
