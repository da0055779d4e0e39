// SPDX-License-Identifier: Apache-2.0
// `lagwatch enable` and `lagwatch disable`: services of systemd under lagwatch.
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <cerrno>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/process/own_command.h"
#include "tools/commands.h"
#include "tools/read/output.h"
#include "tools/run/checks.h"
#include "tools/run/preload.h"
#include "tools/service/config_files.h"
#include "tools/service/service_drop_in.h"
#include "tools/service/unit_files.h"
#include "tools/service/watch_rule_text.h"
#include "tools/watch/watch_rules.h"

namespace lagwatch::tools {
namespace {

namespace fs = std::filesystem;

struct ServiceCommand {
  UnitScope scope;
  std::string unit;
  std::vector<std::string> run_options;
  bool is_watched_from_outside = false;
  bool has_soft_watchdog = false;
  bool is_dry_run = false;
  bool is_confirmed = false;

  bool IsOfThisSystem() const { return scope.root == "/"; }
  fs::path RulesFile() const { return scope.root / fs::path(kRulesFile).relative_path(); }
};

// A change of one file, to be shown before it is made.
struct Change {
  fs::path file;
  std::string shown;     // the part of the text that is new, or that goes
  std::string new_text;  // of the whole file
  std::string next;      // the user's next step, a line
  bool is_removal = false;
};

// The program `lagwatch`, which this one's file is not: it lies below the libraries.
Result<std::string> FindLagwatch() {
  for (fs::path folder = fs::path(base::OwnProgram()).parent_path(); folder != folder.parent_path();
       folder = folder.parent_path()) {
    if (fs::exists(folder / "bin/lagwatch")) return (folder / "bin/lagwatch").string();
  }
  return Status(StatusCode::kNotFound,
                "bin/lagwatch is not beside " + base::OwnProgram() + ": install lagwatch again");
}

std::string Systemctl(const ServiceCommand& command, const std::string& words) {
  return std::string("systemctl ") + (command.scope.is_user ? "--user " : "") + words;
}

// Has systemd read the units again; the running service stays as it is.
Status ReloadManager(const ServiceCommand& command) {
  if (!command.IsOfThisSystem() || !fs::exists("/run/systemd/system")) return {};
  std::vector<std::string> words = {"systemctl", "daemon-reload"};
  if (command.scope.is_user) words.insert(words.begin() + 1, "--user");
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  pid_t pid = -1;
  int status = 0;
  if (posix_spawnp(&pid, "systemctl", nullptr, nullptr, arguments.data(), environ) == 0) {
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
    }
    if (status == 0) return {};
  }
  return {StatusCode::kIo,
          "systemd does not read its units again; try: " + Systemctl(command, "daemon-reload")};
}

// Shows the change, and makes it if the user wants it. Returns the command's exit code.
int Make(const ServiceCommand& command, const Change& change) {
  std::string text =
      std::string(change.is_removal ? "removed from " : "written to ") + change.file.string() + ":\n";
  for (size_t at = 0; at < change.shown.size();) {
    const size_t end = change.shown.find('\n', at);
    text += "    " + change.shown.substr(at, end - at) + "\n";
    at = end == std::string::npos ? change.shown.size() : end + 1;
  }
  if (const int failed = Print("To be " + text)) return failed;
  if (command.is_dry_run) return 0;
  if (!command.is_confirmed && !IsAnsweredYes(change.is_removal ? "Remove it?" : "Write it?"))
    return Fail("nothing was changed; --yes does it without a question");
  Status status =
      change.new_text.empty() ? RemoveConfigFile(change.file) : WriteConfigFile(change.file, change.new_text);
  if (status.ok() && !command.is_watched_from_outside) status = ReloadManager(command);
  if (!status.ok()) return Fail(status.message());
  return Print(change.next);
}

// --- under `lagwatch run`

// Checks the service's program, if it is there and known before its start.
Status CheckProgram(const ServiceCommand& command, const UnitFiles& unit) {
  const std::vector<std::string> lines = unit.Values("Service", "ExecStart");
  const std::string program = lines.empty() ? std::string() : ProgramOf(lines.front());
  if (program.empty()) return {};
  if (!program.starts_with('/')) {
    const auto found =
        command.IsOfThisSystem() ? FindWatchableProgram(program) : Result<std::string>(program);
    return found.ok() ? Status() : found.status();
  }
  return CheckCanPreload(command.scope.root / fs::path(program).relative_path(), FindPreloadLibrary());
}

Result<Change> PlanRun(const ServiceCommand& command, const UnitFiles& unit) {
  const fs::path file = DropInFile(command.scope, unit);
  if (fs::exists(file))
    return Status(StatusCode::kInvalid,
                  unit.name + " is enabled already: `lagwatch disable " + unit.name + "` first");
  DropInChoice choice{.lagwatch = LAGWATCH_TRY(FindLagwatch()),
                      .run_options = command.run_options,
                      .is_user = command.scope.is_user};
  if (command.has_soft_watchdog) choice.run_options.insert(choice.run_options.begin(), "--soft-watchdog");
  if (Status status = CheckRunOptions(choice.run_options); !status.ok()) return status;
  const DropIn drop_in = LAGWATCH_TRY(MakeDropIn(command.scope, unit, choice));
  if (Status status = CheckProgram(command, unit); !status.ok())
    return Status(status.code(),
                  status.message() + "; `lagwatch enable --watch` watches the service from outside");
  std::string next =
      "lagwatch watches it from its next start: " + Systemctl(command, "restart " + unit.name) + "\n";
  next += drop_in.spool.empty() ? "lagwatch clusters     # its hangs\n"
                                : "lagwatch clusters --spool " + drop_in.spool + "     # its hangs\n";
  if (const std::string time = unit.Value("Service", "WatchdogSec");
      !time.empty() && !command.has_soft_watchdog) {
    next += "It has WatchdogSec=" + time +
            ": with --soft-watchdog, lagwatch reports all its threads before systemd ends it.\n";
  }
  return Change{.file = drop_in.file, .shown = drop_in.text, .new_text = drop_in.text, .next = next};
}

Result<Change> PlanNoRun(const ServiceCommand& command, const UnitFiles& unit) {
  const fs::path file = DropInFile(command.scope, unit);
  const auto text = ReadConfigFile(file);
  if (!text.ok() && text.status().code() == StatusCode::kNotFound)
    return Status(StatusCode::kNotFound, unit.name + " is not enabled: " + text.status().message());
  if (!text.ok()) return text.status();
  if (!IsOwnDropIn(*text))
    return Status(StatusCode::kInvalid, file.string() + " is not of `lagwatch enable`: remove it yourself");
  return Change{.file = file,
                .shown = *text,
                .new_text = "",
                .next = "The service runs without lagwatch from its next start: " +
                        Systemctl(command, "restart " + unit.name) + "\nIts reports stay where they are.\n",
                .is_removal = true};
}

// --- watched from outside

// Whether lagwatchd takes the text as its rules. Errors: kInvalid.
Status CheckRules(const std::string& text) {
  std::string file = (fs::temp_directory_path() / "lagwatch-rules-XXXXXX").string();
  const int fd = mkstemp(file.data());
  if (fd < 0) return base::IoError("cannot write " + file, errno);
  close(fd);
  Status status = WriteConfigFile(file, text);
  if (status.ok()) {
    const auto rules = ReadWatchRules(file);
    if (!rules.ok()) status = rules.status();
  }
  unlink(file.c_str());
  return status;
}

Result<std::string> ReadRulesText(const fs::path& file) {
  auto text = ReadConfigFile(file);
  if (!text.ok() && text.status().code() == StatusCode::kNotFound) return std::string();
  return text;
}

Result<Change> PlanWatch(const ServiceCommand& command, const UnitFiles& unit) {
  const fs::path file = command.RulesFile();
  const std::string before = LAGWATCH_TRY(ReadRulesText(file));
  if (!FindWatchRule(before, unit.name).empty()) {
    return Status(StatusCode::kInvalid, unit.name + " has a rule in " + file.string() +
                                            " already: `lagwatch disable --watch " + unit.name + "` first");
  }
  const std::string rule = LAGWATCH_TRY(MakeWatchRule(unit.name, command.run_options));
  const std::string text = WithWatchRule(before, rule);
  if (Status status = CheckRules(text); !status.ok())
    return Status(status.code(), file.string() + " would be wrong: " + status.message());
  return Change{
      .file = file,
      .shown = rule,
      .new_text = text,
      .next = "lagwatchd watches it once it has read its rules: systemctl reload-or-restart lagwatchd\n"};
}

Result<Change> PlanNoWatch(const ServiceCommand& command, const UnitFiles& unit) {
  const fs::path file = command.RulesFile();
  std::string text = LAGWATCH_TRY(ReadRulesText(file));
  const std::string rule(FindWatchRule(text, unit.name));
  if (rule.empty())
    return Status(StatusCode::kNotFound,
                  "there is no rule of `lagwatch enable --watch " + unit.name + "` in " + file.string());
  const size_t at = text.find(rule);
  text.erase(at, rule.size());
  // The empty line that came with it.
  if (text.compare(at, 1, "\n") == 0) {
    text.erase(at, 1);
  } else if (at == text.size() && text.ends_with("\n\n")) {
    text.pop_back();
  }
  return Change{
      .file = file,
      .shown = rule,
      .new_text = text,
      .next = text.empty()
                  ? "lagwatchd has no rule any more; it goes on until it is ended: systemctl stop lagwatchd\n"
                  : "lagwatchd leaves it alone once it has read its rules: systemctl "
                    "reload-or-restart lagwatchd\n",
      .is_removal = true};
}

// --- the commands

int Run(ServiceCommand command, bool is_enabled) {
  command.scope.root = fs::absolute(command.scope.root).lexically_normal();
  if (command.is_watched_from_outside && command.scope.is_user)
    return Fail("lagwatchd watches services of the system; leave out --user or --watch");
  auto unit = FindService(command.scope, command.unit);
  // The drop-in of a unit that has gone, or was masked since, stays behind.
  if (!is_enabled && !unit.ok() && command.unit.find('/') == std::string::npos) {
    UnitFiles gone;
    gone.name = command.unit + (command.unit.ends_with(".service") ? "" : ".service");
    unit = std::move(gone);
  }
  if (!unit.ok()) return Fail(unit.status().message());
  const auto plan = is_enabled ? (command.is_watched_from_outside ? PlanWatch : PlanRun)
                               : (command.is_watched_from_outside ? PlanNoWatch : PlanNoRun);
  const auto change = plan(command, *unit);
  return change.ok() ? Make(command, *change) : Fail(change.status().message());
}

CLI::App* AddCommand(CLI::App* app, const char* name, const char* description, ServiceCommand* command) {
  CLI::App* added = app->add_subcommand(name, description);
  added->add_option("UNIT", command->unit, "The service's unit, such as redis-server")->required();
  added->add_flag("--watch", command->is_watched_from_outside, "By a rule of lagwatchd, from outside");
  added->add_flag("--user", command->scope.is_user, "A unit of this user's own manager");
  added->add_flag("--dry-run", command->is_dry_run, "Only show the change");
  added->add_flag("--yes", command->is_confirmed, "Make the change without a question");
  added->add_option("--root", command->scope.root, "Folder of the system whose files to change")
      ->capture_default_str();
  return added;
}

}  // namespace

void AddServiceCommands(CLI::App* app, int* exit_code) {
  auto enabled = std::make_shared<ServiceCommand>();
  CLI::App* enable = AddCommand(app, "enable", "Run a service of systemd under lagwatch", enabled.get());
  enable->add_flag("--soft-watchdog", enabled->has_soft_watchdog,
                   "Of a unit with WatchdogSec=: report all stacks before systemd ends the service");
  enable->add_option("options", enabled->run_options, "Options of `lagwatch run` for the service, after --");
  enable->footer(
      "Writes a drop-in for the unit, by which systemd starts it under `lagwatch run` with a spool directory "
      "of\n"
      "its own; with --watch, a rule for lagwatchd. Both are shown first.\n\n"
      "  lagwatch enable redis-server -- --threshold-ms 500\n"
      "  systemctl restart redis-server");
  enable->callback([enabled, exit_code] { *exit_code = Run(*enabled, /*is_enabled=*/true); });

  auto disabled = std::make_shared<ServiceCommand>();
  CLI::App* disable = AddCommand(app, "disable", "Undo `lagwatch enable`", disabled.get());
  disable->callback([disabled, exit_code] { *exit_code = Run(*disabled, /*is_enabled=*/false); });
}

}  // namespace lagwatch::tools
