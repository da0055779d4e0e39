// SPDX-License-Identifier: Apache-2.0
// The program lagwatch-commands: all commands of `lagwatch`, which becomes it.
#include <sys/prctl.h>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "collector/symbols/worker/symbol_worker.h"
#include "sdk/preload/environment/own_command.h"
#include "tools/commands.h"

LAGWATCH_MARK_COMMAND;

int main(int argc, char** argv) {
  if (argc == 2 && std::string_view(argv[1]) == lagwatch::collector::kLocalWorkerArgument) {
    return lagwatch::collector::RunSymbolWorker(lagwatch::collector::kWorkerSocket,
                                                lagwatch::collector::FileAccess::kReadOnly);
  }
  // The name that was called, as process lists show it.
  prctl(PR_SET_NAME, std::filesystem::path(argv[0]).filename().c_str());
  CLI::App app;
  lagwatch::tools::DescribeCommandLine(&app);
  int exit_code = 0;
  lagwatch::tools::AddRunCommand(&app, lagwatch::tools::ApplyStoredRunConfig, &exit_code);
  lagwatch::tools::AddWhyCommand(&app, &exit_code);
  lagwatch::tools::AddWatchCommand(&app, &exit_code);
  lagwatch::tools::AddDaemonCommand(&app, &exit_code);
  lagwatch::tools::AddServiceCommands(&app, &exit_code);
  lagwatch::tools::AddAttachCommands(&app, &exit_code);
  lagwatch::tools::AddProbeCommand(&app, &exit_code);
  lagwatch::tools::AddProbeListCommand(&app, &exit_code);
  lagwatch::tools::AddInstrumentCommand(&app, &exit_code);
  lagwatch::tools::AddTraceCommand(&app, &exit_code);
  lagwatch::tools::AddReadCommands(&app, lagwatch::tools::LoadSpoolRecords, "/proc/self/exe", &exit_code);
  lagwatch::tools::AddMcpCommand(&app, lagwatch::tools::LoadSpoolRecords, "/proc/self/exe", &exit_code);
  lagwatch::tools::AddLogCommand(&app, &exit_code);
  lagwatch::tools::AddUploadCommand(&app, &exit_code);
  lagwatch::tools::AddSymbolsCommand(&app, &exit_code);
  lagwatch::tools::AddCauseCommand(&app, &exit_code);
  lagwatch::tools::AddDeleteCommand(&app, &exit_code);
  lagwatch::tools::AddDumpCommand(&app, &exit_code);
  lagwatch::tools::AddDoctorCommand(&app, &exit_code);
  lagwatch::tools::AddOpenCommand(&app, &exit_code);
  lagwatch::tools::AddHelpCommand(&app, &exit_code);
  // By its other name it is a service.
  std::vector<std::string> arguments(argv + 1, argv + argc);
  if (std::string_view(argv[0]).ends_with("lagwatchd")) arguments.insert(arguments.begin(), "daemon");
  return lagwatch::tools::RunCommandLine(&app, std::move(arguments), &exit_code);
}
