// SPDX-License-Identifier: Apache-2.0
#include "tools/service/service_drop_in.h"

#include <algorithm>
#include <array>
#include <initializer_list>
#include <utility>

#include "tools/service/needed_calls.h"

namespace lagwatch::tools {
namespace {

namespace fs = std::filesystem;

constexpr char kService[] = "Service";
constexpr std::string_view kMark = "# Written by `lagwatch enable ";
constexpr std::string_view kWordEnds = " \t";

Status Refuse(const UnitFiles& unit, const std::string& why) {
  return {StatusCode::kInvalid, unit.name + " " + why};
}

const char kWatchInstead[] = "; `lagwatch enable --watch` watches it from outside";

// A line of ExecStart=: its prefixes (systemd.service(5), "special executable prefixes"), and its command.
struct ExecLine {
  std::string prefixes;
  std::string_view command;

  explicit ExecLine(std::string_view line) {
    const size_t begin = line.find_first_not_of("@-:+!|");
    prefixes = line.substr(0, begin);
    command = begin == std::string_view::npos ? std::string_view() : line.substr(begin);
  }
  bool Has(char prefix) const { return prefixes.find(prefix) != std::string::npos; }
};

// An argument as ExecStart= needs it for the program to receive `text`.
std::string Quoted(std::string_view text, bool is_substituted) {
  std::string quoted;
  bool needs_quotes = text.empty() || text == ";";
  for (const char c : text) {
    if (c == '"' || c == '\\') quoted += '\\';
    if (c == '%' || (c == '$' && is_substituted)) quoted += c;
    if (kWordEnds.find(c) != std::string_view::npos || c == '"' || c == '\'' || c == '\\')
      needs_quotes = true;
    quoted += c;
  }
  return needs_quotes ? '"' + quoted + '"' : quoted;
}

// A kind of directories that systemd makes for a service, with the service's user as the owner.
struct Directory {
  const char* setting;
  const char* specifier;
  const char* place;
  const char* variable;  // of the service's environment
};
constexpr std::array<Directory, 3> kDirectories = {{{"StateDirectory", "%S", "/var/lib", "STATE_DIRECTORY"},
                                                    {"CacheDirectory", "%C", "/var/cache", "CACHE_DIRECTORY"},
                                                    {"LogsDirectory", "%L", "/var/log", "LOGS_DIRECTORY"}}};

bool HasOption(const DropInChoice& choice, std::string_view name) {
  return std::ranges::any_of(choice.run_options, [&](std::string_view option) {
    return option == name || (option.starts_with(name) && option.substr(name.size()).starts_with('='));
  });
}

bool IsBelow(const std::string& path, std::initializer_list<std::string_view> folders) {
  return std::ranges::any_of(folders, [&](std::string_view folder) { return path.starts_with(folder); });
}

// Whether the service sees the files of lagwatch.
Status CheckFiles(const UnitFiles& unit, const DropInChoice& choice) {
  for (const char* setting : {"RootDirectory", "RootImage"}) {
    if (!unit.Value(kService, setting).empty())
      return Refuse(unit,
                    std::string("has files of its own (") + setting + "=), without lagwatch" + kWatchInstead);
  }
  const std::string home = unit.Value(kService, "ProtectHome");
  const bool is_home_hidden = unit.IsOn(kService, "ProtectHome") || home == "tmpfs";
  const bool is_hidden =
      (is_home_hidden && IsBelow(choice.lagwatch, {"/home/", "/root/", "/run/user/"})) ||
      (unit.IsOn(kService, "PrivateTmp") && IsBelow(choice.lagwatch, {"/tmp/", "/var/tmp/"}));
  if (is_hidden)
    return Refuse(
        unit, "does not see " + choice.lagwatch + " (ProtectHome=, PrivateTmp=): install lagwatch in /usr");
  return {};
}

Status CheckEndpoint(const UnitFiles& unit, const std::string& type, const DropInChoice& choice) {
  if (!HasOption(choice, "--endpoint")) return {};
  if (unit.IsOn(kService, "PrivateNetwork")) {
    return Refuse(unit,
                  "has no network (PrivateNetwork=): leave --endpoint out, and send its reports by "
                  "`lagwatch upload`");
  }
  // systemd takes the only process that is left for the service's own.
  if (type == "forking" && unit.Value(kService, "PIDFile").empty()) {
    return Refuse(unit,
                  "has no PIDFile=, so systemd would not know it from lagwatch's helper that sends "
                  "reports: leave --endpoint out, and send its reports by `lagwatch upload`");
  }
  return {};
}

// The only ExecStart= line. Errors: kInvalid if it cannot be put behind lagwatch.
Result<ExecLine> TakeExecLine(const UnitFiles& unit, const std::vector<std::string>& lines) {
  if (unit.Value(kService, "Type") == "oneshot")
    return Refuse(unit, "runs its commands to their end (Type=oneshot), and is no program with a loop");
  if (lines.empty()) return Refuse(unit, "has no ExecStart=");
  if (lines.size() > 1) return Refuse(unit, "has several ExecStart= lines");
  ExecLine line(lines.front());
  for (const auto& [prefix, meaning] :
       {std::pair('+', "with all privileges"), std::pair('!', "with other privileges"),
        std::pair('@', "with another name"), std::pair('|', "by a shell")}) {
    if (line.Has(prefix))
      return Refuse(
          unit, std::string("starts its program ") + meaning + " (ExecStart=" + prefix + ")" + kWatchInstead);
  }
  if (fs::path(ProgramOf(lines.front())).filename() == "lagwatch")
    return Refuse(unit, "runs under lagwatch already");
  return line;
}

// The directory of a service's reports.
struct Spool {
  std::string option;     // in ExecStart=; empty: the default
  std::string lines;      // of the section [Service]
  std::string directory;  // for people
};

Result<Spool> ChooseSpool(const UnitFiles& unit, const DropInChoice& choice) {
  if (HasOption(choice, "--spool"))
    return Refuse(unit,
                  "has a spool directory of its own: leave --spool out, systemd makes the directory for the "
                  "service's user");
  if (choice.is_user) return Spool{.option = "", .lines = "", .directory = ""};
  // Another directory of a kind that the service has would be a second one in a variable that it reads.
  const auto unused = std::ranges::find_if(kDirectories, [&](const Directory& directory) {
    return unit.Values(kService, directory.setting).empty();
  });
  if (unused == kDirectories.end())
    return Refuse(
        unit,
        std::string("uses StateDirectory=, CacheDirectory= and LogsDirectory=, so none is left for reports") +
            kWatchInstead);
  const std::string setting = unused->setting;
  // The path without a link, which the spool's own check refuses.
  const std::string folder = unit.IsOn(kService, "DynamicUser") ? "/private/lagwatch/" : "/lagwatch/";
  std::string name = unit.name.substr(0, unit.name.rfind('.'));
  if (name.ends_with('@')) name += "INSTANCE";
  return Spool{.option = " --spool " + (unused->specifier + folder) + "%N",
               .lines = setting + "=lagwatch/%N\n" + setting +
                        "Mode=0700\nUnsetEnvironment=" + unused->variable + "\n",
               .directory = unused->place + folder + name};
}

// The filter with lagwatch's own calls, if the service has one: a call that it lacks would end the service.
std::string FilterLines(const UnitFiles& unit) {
  if (unit.Values(kService, "SystemCallFilter").empty()) return {};
  return "# Calls of lagwatch itself (docs/configuration.md).\nSystemCallFilter=" +
         std::string(kNeededCalls) + "\n";
}

}  // namespace

fs::path DropInFile(const UnitScope& scope, const UnitFiles& unit) {
  return scope.OwnFolder() / (unit.name + ".d") / kDropInName;
}

std::string ProgramOf(std::string_view exec_line) {
  const std::string_view command = ExecLine(exec_line).command;
  const bool is_quoted = command.starts_with('"') || command.starts_with('\'');
  const std::string_view word = is_quoted ? command.substr(1, command.find(command.front(), 1) - 1)
                                          : command.substr(0, command.find_first_of(kWordEnds));
  return word.find_first_of("$%\\") == std::string_view::npos ? std::string(word) : std::string();
}

Result<DropIn> MakeDropIn(const UnitScope& scope, const UnitFiles& unit, const DropInChoice& choice) {
  const fs::path file = DropInFile(scope, unit);
  const std::vector<std::string> lines = unit.Values(kService, "ExecStart");
  const ExecLine line = LAGWATCH_TRY(TakeExecLine(unit, lines));
  for (const fs::path& other : unit.drop_ins) {
    if (other.filename() > file.filename())
      return Refuse(
          unit, "has " + other.string() + ", which is read after " + kDropInName + ": give it another name");
  }
  if (Status status = CheckFiles(unit, choice); !status.ok()) return status;
  if (Status status = CheckEndpoint(unit, unit.Value(kService, "Type"), choice); !status.ok()) return status;
  if (HasOption(choice, "--soft-watchdog") && unit.Value(kService, "WatchdogSec").empty())
    return Refuse(unit, "has no WatchdogSec=, so there is nothing for --soft-watchdog to do");
  const Spool spool = LAGWATCH_TRY(ChooseSpool(unit, choice));

  DropIn drop_in{.file = file, .text = "", .spool = spool.directory};
  drop_in.text =
      std::string(kMark) + unit.name + "`; `lagwatch disable " + unit.name + "` removes it.\n[Service]\n";
  drop_in.text +=
      "ExecStart=\nExecStart=" + line.prefixes + Quoted(choice.lagwatch, false) + " run" + spool.option;
  for (const std::string& option : choice.run_options) drop_in.text += " " + Quoted(option, !line.Has(':'));
  drop_in.text += " -- " + std::string(line.command) + "\n" + spool.lines + FilterLines(unit);
  return drop_in;
}

bool IsOwnDropIn(std::string_view text) { return text.starts_with(kMark); }

}  // namespace lagwatch::tools
