// SPDX-License-Identifier: Apache-2.0
// The rules of lagwatchd, by which it watches programs: those of its configuration file,
// /etc/lagwatch/watch.toml. Context: background.
#pragma once

#include <lagwatch/options.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "tools/watch/targets.h"
#include "tools/watch/watchers.h"

namespace lagwatch::tools {

inline constexpr char kRulesFile[] = "/etc/lagwatch/watch.toml";

// A key of the file besides the options, for people.
struct WatchKey {
  const char* name;
  bool is_of_rule;  // else it stands above all rules
  const char* meaning;
};
inline constexpr WatchKey kWatchKeys[] = {
    {"most_processes", false, "The most processes that have a watcher at a time, 1 to 1000. Default: 128"},
    {"bpf", false, "true: the kernel records when loops wait, as for `lagwatch watch --bpf`. Default: false"},
    {"program", true, "Condition: the name of the process's program, of its file or its main thread"},
    {"user", true, "Condition: the user that the process runs as, a name or a number"},
    {"unit", true, "Condition: the systemd unit that the process is of"},
    {"watch", true, "false: processes that the rule fits are not watched. Default: true"},
    {"quota", true, "Reports that each program may have on one day (UTC), from 1. Default: no limit"},
    {"threads", true, "Threads whose loops to watch, as for `lagwatch watch --threads`. Default: auto"},
    {"interval_ms", true, "Time between two looks at a thread, 10 to 1000. Default: 100"},
    {"probable", true,
     "true: report also where a hang is not certain, as for `lagwatch watch --probable`. "
     "Default: false"},
};

// Options that belong to one process, or to the program itself: they are no keys of the file.
inline constexpr std::string_view kNoRulesOptions[] = {"app", "user", "dump_signal"};

// Conditions that are not given are met by all processes.
struct WatchRule {
  std::string program;
  std::string user;  // a name or a number
  std::string unit;
  bool is_watched = true;
  std::shared_ptr<WatchSettings> settings;  // shared with those that are watched by it
  std::vector<std::string> texts;           // all that was said, by which rules are compared

  bool Matches(const Target& target) const;
  bool IsSameAs(const WatchRule& other) const { return texts == other.texts; }
};

struct WatchRules {
  static constexpr uint32_t kMostProcesses = 128;

  Options options;  // those of the file, for what is not of one program: where reports go
  uint32_t most_processes = kMostProcesses;
  bool asks_kernel = false;  // see Watchers::AskKernel
  std::vector<WatchRule> rules;

  // The first rule that fits, if that is one by which processes are watched; else none.
  const WatchRule* Find(const Target& target) const;
  // Rules that are as before go on with what they have used up.
  void KeepQuotasOf(const WatchRules& before);
};

// Errors: those of reading; kInvalid with the line and what is wrong there.
base::Result<WatchRules> ReadWatchRules(const std::filesystem::path& file);

}  // namespace lagwatch::tools
