// SPDX-License-Identifier: Apache-2.0
// The command `help`, with the values that shells complete: processes and reports of this machine.
#include <sys/stat.h>
#include <unistd.h>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <algorithm>
#include <cstdlib>
#include <ranges>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/command_line/command_tree.h"
#include "base/command_line/help_command.h"
#include "base/process/env.h"
#include "base/process/proc_file.h"
#include "base/uuid.h"
#include "report/format/report.h"
#include "report/spool/spool_reader.h"
#include "sdk/run/default_paths.h"
#include "tools/commands.h"
#include "tools/help/manual.h"
#include "tools/process_files.h"
#include "tools/read/table.h"
#include "tools/schema/exit_codes.h"

namespace lagwatch::tools {
namespace {

using base::Candidate;
using base::Completion;
using FromShell = Completion::FromShell;
using Line = std::vector<std::string>;

// This user's, or all for root; without kernel threads and this process. With their names, too, if
// `has_names`.
std::vector<Candidate> Processes(bool has_names) {
  std::vector<Candidate> processes;
  std::set<std::string> names;
  base::ForEachNumberIn("/proc", [&](int pid) {
    struct stat status {};
    const bool is_own =
        stat(ProcessFolder(pid).c_str(), &status) == 0 && (geteuid() == 0 || status.st_uid == geteuid());
    if (!is_own || pid == getpid() || LineIn(ProcessFolder(pid) / "cmdline").empty()) return true;
    const std::string name = Printable(CommandOf(pid));
    processes.push_back({std::to_string(pid), name});
    if (has_names && name.find_first_of(" \t\\'\"") == std::string::npos) names.insert(name);
    return true;
  });
  for (const std::string& name : names) processes.push_back({name});
  return processes;
}

std::string VariableOr(const char* name, const std::string& other) {
  const char* value = std::getenv(name);
  return value == nullptr || *value == '\0' ? other : value;
}

// The spool that a command with this line would read; empty if it would ask a collector.
std::string SpoolOf(const Line& line) {
  constexpr std::string_view kFlag = "--spool";
  for (size_t i = 0; i + 1 < line.size(); ++i) {
    if (line[i] == kFlag) return line[i + 1] == "=" && i + 2 < line.size() ? line[i + 2] : line[i + 1];
    if (line[i].starts_with(std::string(kFlag) + "=")) return line[i].substr(kFlag.size() + 1);
    if (line[i].starts_with("--endpoint")) return "";
  }
  if (!VariableOr("LAGWATCH_ENDPOINT", "").empty()) return "";
  return VariableOr("LAGWATCH_SPOOL", sdk::DefaultSpoolDirectory());
}

// The newest first.
std::vector<Candidate> ReportsIn(const std::string& spool) {
  std::vector<Candidate> reports;
  if (spool.empty()) return reports;
  const report::SpoolReader reader(&base::SystemEnv(), spool);
  const auto names = reader.List(report::SpoolReader::Include::kLiveToo);
  if (!names.ok()) return reports;
  for (const std::string& name : *names) {
    const auto segment = reader.Read(name);
    if (!segment.ok()) continue;
    for (const report::OwnedRecord& record : segment->records) {
      if (record.type != report::RecordType::kReport) continue;
      const auto report = report::DecodeReport(record.payload);
      if (report.ok())
        reports.push_back({base::ToString(report->id),
                           Printable(report->app) + ", " + UtcTime(report->start_wall_ms) + " UTC"});
    }
  }
  std::ranges::reverse(reports);
  return reports;
}

std::vector<Candidate> CommandsOf(const CLI::App& app) {
  std::vector<Candidate> commands;
  for (const CLI::App* command : base::VisibleCommands(app))
    commands.push_back({command->get_name(), command->get_description()});
  return commands;
}

// By the names that options and arguments have in all commands: an argument's name says what it is.
Completion ValuesOf(const CLI::App& app, const std::string& name, const Line& line) {
  constexpr std::string_view kFiles[] = {"TRACE", "PATH", "--output", "--trace", "--ca-file", "--config"};
  if (name == "--spool" || name == "--source") return {.from_shell = FromShell::kDirectories};
  if (std::ranges::find(kFiles, name) != std::end(kFiles)) return {.from_shell = FromShell::kFiles};
  if (name == "command") return {.from_shell = FromShell::kPrograms};
  if (name == "COMMAND") return {.candidates = CommandsOf(app)};
  const bool is_process = name.find("PID") != std::string::npos || name == "--pid";
  if (is_process) {
    const bool has_names = name.find("NAME") != std::string::npos;
    const bool is_program = name.find("COMMAND") != std::string::npos;
    return {.candidates = Processes(has_names),
            .from_shell = is_program ? FromShell::kPrograms : FromShell::kNothing};
  }
  const bool is_of_trace = std::ranges::find(line, "traces") != line.end();
  if (name == "SPOOL|ID")
    return {.candidates = ReportsIn(SpoolOf(line)), .from_shell = FromShell::kDirectories};
  if (name == "ID" && !is_of_trace) return {.candidates = ReportsIn(SpoolOf(line))};
  return {};
}

}  // namespace

void AddHelpCommand(CLI::App* app, int* exit_code) {
  base::AddHelpCommand(
      app,
      {.values = [app](const std::string& name, const Line& line) { return ValuesOf(*app, name, line); },
       .write_manual = [app](const std::string& directory) { return WriteManual(*app, directory); },
       .topics = {{"exit-codes", ExitCodeText()}}},
      exit_code);
}

}  // namespace lagwatch::tools
