// SPDX-License-Identifier: Apache-2.0
#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <algorithm>
#include <iostream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/command_line/nearest_word.h"
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
  std::vector<std::string> names;
  for (const CLI::App* command : at->get_subcommands(
           [](const CLI::App* each) { return !each->get_name().empty() && !each->get_group().empty(); })) {
    known += (known.empty() ? "" : ", ") + command->get_name();
    names.push_back(command->get_name());
  }
  const std::string nearest = base::NearestWord(words.front(), names);
  std::cerr << "lagwatch: no command '" << words.front() << "'; "
            << (nearest.empty() ? "there are: " + known : "did you mean '" + nearest + "'?") << "\n";
  return true;
}

// Says which option was probably meant by one that the command does not have.
void SayNearestOption(const CLI::App& app) {
  const CLI::App* at = &app;
  while (!at->get_subcommands().empty()) at = at->get_subcommands().front();
  std::vector<std::string> names;
  for (const CLI::Option* option : at->get_options())
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  for (const std::string& word : at->remaining()) {
    const std::string nearest = base::NearestWord(word.substr(0, word.find('=')), names);
    if (word.starts_with("--") && !nearest.empty()) std::cerr << "Did you mean " << nearest << "?\n";
  }
}

// Of the commands that there are: the ways to an answer, for a line without a command.
void SayFirstSteps(const CLI::App& app) {
  std::cerr << "lagwatch finds the code that froze a program.\n\n";
  const auto say = [&app](const char* command, const char* line, const char* purpose) {
    const auto is_it = [command](const CLI::App* each) { return each->get_name() == command; };
    if (app.get_subcommands(is_it).empty()) return;
    std::cerr << "  lagwatch " << line << std::string(20 - std::string_view(line).size(), ' ') << purpose
              << "\n";
  };
  say("why", "why PID", "says why a program is frozen now");
  say("run", "run -- PROGRAM", "runs a program under a watchdog, which reports each freeze");
  say("watch", "watch PID", "does so for one that runs already");
  say("clusters", "clusters", "shows what froze, the costliest first; `lagwatch reports` lists each freeze");
  std::cerr << "\n`lagwatch doctor` checks what works here; `lagwatch --help` lists all commands.\n";
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
  if (arguments.empty()) {
    SayFirstSteps(*app);
    return kUsageError;
  }
  std::ranges::reverse(arguments);  // as CLI11 takes them
  try {
    app->parse(std::move(arguments));
  } catch (const CLI::RequiredError& error) {
    if (!SayUnknownCommand(*app)) app->exit(error);
    return kUsageError;
  } catch (const CLI::ExtrasError& error) {
    app->exit(error);
    SayNearestOption(*app);
    return kUsageError;
  } catch (const CLI::ParseError& error) {
    return app->exit(error) == 0 ? 0 : kUsageError;
  }
  return *exit_code;
}

}  // namespace lagwatch::tools
