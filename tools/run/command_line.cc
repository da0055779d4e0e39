// SPDX-License-Identifier: Apache-2.0
#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <algorithm>
#include <iostream>
#include <string>
#include <utility>
#include <vector>

#include "tools/commands.h"

namespace lagwatch::tools {
namespace {

// Of a line that lacks a command where another word stands: says so, and what there is. CLI11 says only that
// one is missing.
bool SayUnknownCommand(const CLI::App& app) {
  const CLI::App* at = &app;
  while (!at->get_subcommands().empty()) at = at->get_subcommands().front();
  const std::vector<std::string> words = at->remaining();
  if (words.empty()) return false;
  std::string known;
  for (const CLI::App* command : at->get_subcommands(
           [](const CLI::App* each) { return !each->get_name().empty() && !each->get_group().empty(); }))
    known += (known.empty() ? "" : ", ") + command->get_name();
  std::cerr << "lagwatch: no command '" << words.front() << "'; there are: " << known << "\n";
  return true;
}

}  // namespace

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
  } catch (const CLI::RequiredError& error) {
    if (!SayUnknownCommand(*app)) app->exit(error);
    return kUsageError;
  } catch (const CLI::ParseError& error) {
    return app->exit(error) == 0 ? 0 : kUsageError;
  }
  return *exit_code;
}

}  // namespace lagwatch::tools
