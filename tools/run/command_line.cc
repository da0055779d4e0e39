// SPDX-License-Identifier: Apache-2.0
#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "tools/commands.h"

namespace lagwatch::tools {

void DescribeCommandLine(CLI::App* app) {
  app->name("lagwatch");
  app->description(
      "Finds the code that froze a program: runs programs under a watchdog, and shows their hangs.");
  app->set_version_flag("--version", "lagwatch " LAGWATCH_VERSION);
  app->require_subcommand(1);
}

int RunCommandLine(CLI::App* app, std::vector<std::string> arguments, const int* exit_code) {
  constexpr int kUsageError = 2;
  std::ranges::reverse(arguments);  // as CLI11 takes them
  try {
    app->parse(std::move(arguments));
  } catch (const CLI::ParseError& error) {
    return app->exit(error) == 0 ? 0 : kUsageError;
  }
  return *exit_code;
}

}  // namespace lagwatch::tools
