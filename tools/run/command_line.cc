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

#include "base/command_line/leading_options.h"
#include "base/command_line/nearest_word.h"
#include "base/text.h"
#include "tools/commands.h"

namespace lagwatch::tools {
namespace {

// The command that the line has come to.
const CLI::App* DeepestCommand(const CLI::App& app) {
  const CLI::App* at = &app;
  while (!at->get_subcommands().empty()) at = at->get_subcommands().front();
  return at;
}

// Of a line that lacks a command where another word stands: says so, and what there is. CLI11 says only that
// one is missing.
bool SayUnknownCommand(const CLI::App& app) {
  const CLI::App* at = DeepestCommand(app);
  const std::vector<std::string> words = at->remaining();
  if (words.empty() || words.front().starts_with('-')) return false;
  std::string known;
  std::vector<std::string> names;
  for (const CLI::App* command : at->get_subcommands(
           [](const CLI::App* each) { return !each->get_name().empty() && !each->get_group().empty(); })) {
    known += (known.empty() ? "" : ", ") + command->get_name();
    names.push_back(command->get_name());
  }
  if (names.empty()) return false;
  const std::string nearest = base::NearestWord(words.front(), names);
  std::cerr << "lagwatch: no command '" << words.front() << "'; "
            << (nearest.empty() ? "there are: " + known : "did you mean '" + nearest + "'?") << "\n";
  return true;
}

// Words that the command does not take, without those behind "--", which are no options.
std::vector<std::string> LeftWords(const CLI::App& app) {
  std::vector<std::string> words = DeepestCommand(app)->remaining();
  words.erase(std::ranges::find(words, "--"), words.end());
  return words;
}

// The option among them; empty: there is none.
std::string UnknownOption(const CLI::App& app) {
  const std::vector<std::string> words = LeftWords(app);
  const auto option =
      std::ranges::find_if(words, [](const std::string& word) { return word.starts_with('-'); });
  return option == words.end() ? "" : option->substr(0, option->find('='));
}

// Says which option was probably meant by one that the command does not have.
void SayNearestOption(const CLI::App& app) {
  const CLI::App* at = DeepestCommand(app);
  std::vector<std::string> names;
  for (const CLI::Option* option : at->get_options())
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  for (const std::string& word : LeftWords(app)) {
    const std::string nearest = base::NearestWord(word.substr(0, word.find('=')), names);
    if (word.starts_with("--") && !nearest.empty()) std::cerr << "Did you mean " << nearest << "?\n";
  }
}

// "watch", or "trace top", of the command that the line has come to; empty: it has come to none.
std::string LineOfCommand(const CLI::App& app) {
  std::string line;
  for (const CLI::App* at = &app; !at->get_subcommands().empty();) {
    at = at->get_subcommands().front();
    line += (line.empty() ? "" : " ") + at->get_name();
  }
  return line;
}

// Of words that the command does not take: the option, if one is among them.
std::string ExtraText(const CLI::App& app) {
  if (const std::string option = UnknownOption(app); !option.empty()) return "no option '" + option + "'";
  const std::vector<std::string> words = LeftWords(app);
  return words.empty() ? "too many words" : "'" + words.front() + "' is one word too many";
}

// The error, and the line to type next.
std::string FailureMessage(const CLI::App* app, const CLI::Error& error) {
  const std::string line = LineOfCommand(*app);
  const std::string prefix = line.empty() ? "" : line + ": ";
  std::string text = error.what();
  if (text.starts_with(prefix)) text.erase(0, prefix.size());
  if (dynamic_cast<const CLI::ExtrasError*>(&error) != nullptr) text = ExtraText(*app);
  return "lagwatch: " + prefix + text + "\n`lagwatch " + (line.empty() ? "" : line + " ") +
         "--help` says what there is\n";
}

// Of a value that is not one of a list, which CLI11 writes as "--color: blue not in {auto,always,never}".
void SayNearestValue(const CLI::ParseError& error) {
  constexpr std::string_view kNotIn = " not in {";
  const std::string text = error.what();
  const size_t at = text.find(kNotIn);
  const size_t name_end = text.find(": ");
  if (at == std::string::npos || name_end == std::string::npos || name_end > at) return;
  const size_t begin = at + kNotIn.size();
  const std::vector<std::string> known =
      base::SplitAtCommas(text.substr(begin, text.find('}', begin) - begin));
  const std::string nearest = base::NearestWord(text.substr(name_end + 2, at - name_end - 2), known);
  if (!nearest.empty()) std::cerr << "Did you mean " << nearest << "?\n";
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
  app->failure_message(&FailureMessage);
}

int RunCommandLine(CLI::App* app, std::vector<std::string> arguments, const int* exit_code) {
  constexpr int kUsageError = 2;
  if (arguments.empty()) {
    SayFirstSteps(*app);
    return kUsageError;
  }
  arguments = base::WithCommandFirst(*app, std::move(arguments));
  std::ranges::reverse(arguments);  // as CLI11 takes them
  try {
    app->parse(std::move(arguments));
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return app->exit(error);  // the help
    const bool lacks_one = dynamic_cast<const CLI::RequiredError*>(&error) != nullptr;
    if (lacks_one && SayUnknownCommand(*app)) return kUsageError;
    // An option that does not exist may have been meant for the one that is missing, and its value has become
    // a word of the command.
    if (!UnknownOption(*app).empty()) {
      app->exit(CLI::ExtrasError(LeftWords(*app)));
      SayNearestOption(*app);
    } else {
      app->exit(error);
      SayNearestValue(error);
    }
    return kUsageError;
  }
  return *exit_code;
}

}  // namespace lagwatch::tools
