// SPDX-License-Identifier: Apache-2.0
// The `lagwatch` program: `lagwatch run`, without the libraries that other commands need. It becomes
// lagwatch-commands (commands_main.cc), which has all commands, for everything else. docs/design/start.md has
// the cost of a watched program's start.
#include <unistd.h>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <cerrno>
#include <cstring>
#include <iostream>
#include <string>
#include <string_view>
#include <vector>

#include "base/process/own_command.h"
#include "sdk/preload/environment/own_command.h"
#include "tools/commands.h"
#include "tools/run/preload.h"

LAGWATCH_MARK_COMMAND;

namespace {

bool IsCalled(const char* name, char** argv) { return std::string_view(argv[0]).ends_with(name); }

// Returns only if that fails, with the exit code, having said why.
int BecomeOther(char** argv) {
  // A link of the relocatable archive.
  const char* name = IsCalled("lagwatch-collector", argv) ? "collector" : "lagwatch-commands";
  const std::string program = lagwatch::tools::FindOwnFile(name);
  if (program.empty()) {
    std::cerr << "lagwatch: " << name << " is not beside this program: install lagwatch again\n";
    return 1;
  }
  lagwatch::base::OwnCommand command = lagwatch::base::CommandOf(program, argv[0]);
  std::vector<char*> arguments;
  for (std::string& argument : command.arguments) arguments.push_back(argument.data());
  for (char** argument = argv + 1; *argument != nullptr; ++argument) arguments.push_back(*argument);
  arguments.push_back(nullptr);
  execv(command.file.c_str(), arguments.data());
  std::cerr << "lagwatch: cannot run " << program << ": " << std::strerror(errno) << "\n";
  return 1;
}

bool IsOwnCommand(int argc, char** argv) {
  if (argc < 2 || IsCalled("lagwatchd", argv) || IsCalled("lagwatch-collector", argv)) return false;
  const std::string_view command = argv[1];
  return command == "run" || (command == "--version" && argc == 2);
}

}  // namespace

int main(int argc, char** argv) {
  if (!IsOwnCommand(argc, argv)) return BecomeOther(argv);
  CLI::App app;
  lagwatch::tools::DescribeCommandLine(&app);
  int exit_code = 0;
  // A signature can be checked only there. Nothing has happened yet.
  const auto take_stored_config = [argv](const std::string&, lagwatch::Options*) {
    BecomeOther(argv);
    return lagwatch::base::Result<bool>(
        lagwatch::base::Status(lagwatch::base::StatusCode::kIo, "the config cannot be read"));
  };
  lagwatch::tools::AddRunCommand(&app, take_stored_config, &exit_code);
  return lagwatch::tools::RunCommandLine(&app, {argv + 1, argv + argc}, &exit_code);
}
