// SPDX-License-Identifier: Apache-2.0
// The `lagwatch` command line.
#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "collector/symbols/worker/symbol_worker.h"
#include "sdk/preload/environment/own_command.h"
#include "tools/commands.h"
#include "tools/spool_records.h"

LAGWATCH_MARK_COMMAND;

int main(int argc, char** argv) {
  if (argc == 2 && std::string_view(argv[1]) == lagwatch::collector::kLocalWorkerArgument) {
    return lagwatch::collector::RunSymbolWorker(lagwatch::collector::kWorkerSocket,
                                                lagwatch::collector::FileAccess::kReadOnly);
  }
  constexpr int kUsageError = 2;
  CLI::App app("Finds the code that froze a program: runs programs under a watchdog, and shows their hangs.",
               "lagwatch");
  app.set_version_flag("--version", "lagwatch " LAGWATCH_VERSION);
  app.require_subcommand(1);
  int exit_code = 0;
  lagwatch::tools::AddRunCommand(&app, &exit_code);
  lagwatch::tools::AddWatchCommand(&app, &exit_code);
  lagwatch::tools::AddDaemonCommand(&app, &exit_code);
  lagwatch::tools::AddAttachCommands(&app, &exit_code);
  lagwatch::tools::AddTraceCommand(&app, &exit_code);
  lagwatch::tools::AddReadCommands(&app, lagwatch::tools::LoadSpoolRecords, "/proc/self/exe", &exit_code);
  lagwatch::tools::AddUploadCommand(&app, &exit_code);
  lagwatch::tools::AddSymbolsCommand(&app, &exit_code);
  lagwatch::tools::AddCauseCommand(&app, &exit_code);
  lagwatch::tools::AddDeleteCommand(&app, &exit_code);
  lagwatch::tools::AddDumpCommand(&app, &exit_code);
  // By its other name it is a service.
  std::vector<std::string> arguments(argv + 1, argv + argc);
  if (std::string_view(argv[0]).ends_with("lagwatchd")) arguments.insert(arguments.begin(), "daemon");
  std::ranges::reverse(arguments);  // as CLI11 takes them
  try {
    app.parse(arguments);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : kUsageError;
  }
  return exit_code;
}
