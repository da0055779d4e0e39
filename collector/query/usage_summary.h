// SPDX-License-Identifier: Apache-2.0
// Sums up the usage of programs, by program and version: the denominators of their hangs. Context:
// background. Not thread-safe.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "collector/query/hang_rate.h"
#include "collector/query/json/json_text.h"
#include "collector/store/records.h"
#include "policies/usage.h"
#include "report/format/report.h"

namespace lagwatch::collector {

// Sums stop at what their type holds: numbers come from clients.
struct UsageSummary {
  std::string app;
  std::string version;
  policies::LoopUsage total;
  std::map<std::string, policies::LoopUsage> loops;
  std::map<std::pair<std::string, std::string>, policies::SlowDispatches> slow;  // by loop and tag
  policies::SuppressedCounts suppressed{};
  int64_t runs = 0;
  std::map<std::string, int64_t> exits;  // number of runs by the reason that they ended for
  HangRates rates;
  // Those that named themselves, with the longest hang time first.
  std::vector<std::pair<std::string, policies::LoopUsage>> users;
  int64_t first_seen_ms = 0;
  int64_t last_seen_ms = 0;
};

class UsageSummaries {
 public:
  void Add(const report::Usage& usage);
  // After all usage: versions without usage are not shown.
  void Add(const ExitCount& exit);
  // Those of the most watched time first.
  std::vector<UsageSummary> Take() &&;

 private:
  struct VersionUse {
    UsageSummary summary;
    std::set<std::string> sessions;
    std::map<std::string, policies::LoopUsage> users;
  };

  std::map<std::pair<std::string, std::string>, VersionUse> sums_;  // by app and version
};

Json UsageJson(const UsageSummary& summary);

}  // namespace lagwatch::collector
