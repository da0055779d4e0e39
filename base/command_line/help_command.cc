// SPDX-License-Identifier: Apache-2.0
#include "base/command_line/help_command.h"

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <memory>
#include <vector>

#include "base/command_line/command_tree.h"
#include "base/command_line/nearest_word.h"

namespace lagwatch::base {
namespace {

constexpr int kUsageError = 2;

struct HelpRequest {
  std::vector<std::string> words;
  std::string manual_directory;
  bool is_completion = false;
};

int PrintHelpOf(const CLI::App& app, const std::vector<std::string>& names,
                const std::map<std::string, std::string>& topics) {
  if (const auto topic = topics.find(names.empty() ? "" : names.front()); topic != topics.end()) {
    std::cout << topic->second;
    return 0;
  }
  const CLI::App* command = &app;
  std::string line = app.get_name();
  for (const std::string& name : names) {
    const CLI::App* found = FindCommand(*command, name);
    if (found == nullptr) {
      std::vector<std::string> known;
      for (const CLI::App* each : VisibleCommands(*command)) known.push_back(each->get_name());
      if (command == &app)
        for (const auto& [topic, text] : topics) known.push_back(topic);
      const std::string nearest = NearestWord(name, known);
      std::cerr << app.get_name() << ": there is no command '" << name << "'; "
                << (nearest.empty() ? "`" + line + " --help` lists them" : "did you mean '" + nearest + "'?")
                << "\n";
      return kUsageError;
    }
    command = found;
    line += " " + name;
  }
  // Not by help(), which is that of the command that is running.
  std::cout << command->get_formatter()->make_help(command, line, CLI::AppFormatMode::Normal);
  return 0;
}

int WriteManual(const std::string& directory, const HelpSources& sources) {
  const Status written = sources.write_manual(directory);
  if (!written.ok()) std::cerr << written.message() << "\n";
  return written.ok() ? 0 : 1;
}

int RunHelp(const CLI::App& app, const HelpRequest& request, const HelpSources& sources) {
  if (request.is_completion) {
    std::cout << ToText(Complete(app, request.words, sources.values));
    return 0;
  }
  if (!request.manual_directory.empty()) return WriteManual(request.manual_directory, sources);
  return PrintHelpOf(app, request.words, sources.topics);
}

}  // namespace

void AddHelpCommand(CLI::App* app, const HelpSources& sources, int* exit_code) {
  auto request = std::make_shared<HelpRequest>();
  CLI::App* help = app->add_subcommand("help", "Print the help of a command")->group("");
  help->add_option("COMMAND", request->words, "The command");
  help->add_option("--manual", request->manual_directory,
                   "Write the pages of the manual below this directory")
      ->group("");
  help->add_flag("--complete", request->is_completion, "Print the completions of the last word after --")
      ->group("");
  help->callback([=] { *exit_code = RunHelp(*app, *request, sources); });
}

Status WriteTextFile(const std::string& path, const std::string& text) {
  std::error_code error;
  std::filesystem::create_directories(std::filesystem::path(path).parent_path(), error);
  std::ofstream file(path, std::ios::binary);
  file << text;
  file.close();
  return file ? Status() : IoError("cannot write " + path, errno);
}

}  // namespace lagwatch::base
