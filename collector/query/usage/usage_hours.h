// SPDX-License-Identifier: Apache-2.0
// The durations of programs' dispatches, hour by hour. Context: background. Not thread-safe.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>

#include "collector/query/json/json_text.h"
#include "policies/usage.h"
#include "report/format/report.h"

namespace lagwatch::collector {

class UsageHours {
 public:
  // A record has one histogram for all of its time: it counts in each hour (UTC) in proportion to the part
  // that lies there. `loop`: that loop alone; empty: all loops. Records that span more than kLongestMs, of
  // programs that were suspended for days, are left out.
  void Add(const report::Usage& usage, std::string_view loop);

  // An entry for each hour from `first_day` to `last_day` (days since 1970 UTC) and program, the newest hour
  // first; `limit` at most.
  Json ToJson(int64_t first_day, int64_t last_day, size_t limit) const;

 private:
  static constexpr int64_t kLongestMs = 2 * int64_t{86'400'000};

  struct HourOfUse {
    double watched_ns = 0;
    std::array<double, policies::DurationHistogram::kBuckets> counts{};
  };

  std::map<std::pair<int64_t, std::string>, HourOfUse> sums_;  // by minus the hour, and app
};

}  // namespace lagwatch::collector
