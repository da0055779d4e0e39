// SPDX-License-Identifier: Apache-2.0
// Records to remove from a store, and the progress. Context: background; pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace lagwatch::collector {

struct Removal {
  enum class By {
    kReport,     // `subject` is a report's id, as text
    kCluster,    // … the key of a cluster of either level
    kUser,       // … a user
    kKey,        // … the name of the key that brought the records
    kApp,        // … a program's name
    kOtherApps,  // all programs except `excluded_apps`
  };

  By by = By::kReport;
  std::string subject = {};
  std::vector<std::string> excluded_apps = {};
  // Only records made, or ended, before that day (since 1970 UTC); nothing: of all days.
  std::optional<int64_t> before_day = std::nullopt;
};

// The caller keeps it from one step to the next. A new one begins at the start, which is right at any time:
// removed records are not found again.
struct RemovalProgress {
  int64_t reports = 0;
  int64_t traces = 0;
  int64_t others = 0;  // usage, losses, frames, ends of runs and records of unknown types

  // The store's own: the kind of records that it looks at, and the last one that it has looked at.
  int stage = 0;
  int64_t after_row = 0;
  std::string after_id = {};
};

}  // namespace lagwatch::collector
