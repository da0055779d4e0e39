// SPDX-License-Identifier: Apache-2.0
#include "base/command_line/help_command.h"

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <algorithm>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

#include "base/command_line/manual_page.h"
#include "collector/commands/commands.h"

namespace lagwatch::collector {
namespace {

using base::Completion;

Completion FilesFor(const std::string& name) {
  constexpr std::string_view kDirectories[] = {"--data", "--symbols-dir"};
  constexpr std::string_view kFiles[] = {"--tls-cert", "--tls-key", "--config", "--cluster-rules"};
  if (std::ranges::find(kDirectories, name) != std::end(kDirectories))
    return {.from_shell = Completion::FromShell::kDirectories};
  if (std::ranges::find(kFiles, name) != std::end(kFiles))
    return {.from_shell = Completion::FromShell::kFiles};
  return {};
}

base::Status WritePage(const CLI::App& app, const std::string& directory) {
  const base::ManualTitle title = {.name = app.get_name(),
                                   .section = 8,
                                   .summary = "collect reports of lagwatch and group them into causes",
                                   .release = app.version(),
                                   .date = base::ManualDate()};
  return base::WriteTextFile(
      directory + "/man8/" + title.name + ".8",
      base::PageOfCommand(app, title.name, title, {"lagwatch(1)", "lagwatch-upload(1)", "lagwatchd(8)"}));
}

}  // namespace

void AddHelpCommand(CLI::App* app, int* exit_code) {
  base::AddHelpCommand(
      app,
      {.values = [](const std::string& name, const std::vector<std::string>&) { return FilesFor(name); },
       .write_manual = [app](const std::string& directory) { return WritePage(*app, directory); }},
      exit_code);
}

}  // namespace lagwatch::collector
