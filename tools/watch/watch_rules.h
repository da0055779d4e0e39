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
#include <vector>

#include "base/status.h"
#include "tools/watch/targets.h"
#include "tools/watch/watchers.h"

namespace lagwatch::tools {

inline constexpr char kRulesFile[] = "/etc/lagwatch/watch.toml";

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
