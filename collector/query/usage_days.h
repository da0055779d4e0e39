// SPDX-License-Identifier: Apache-2.0
// The usage of programs' versions, day by day. Context: background. Not thread-safe.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <tuple>

#include "collector/query/hang_rate.h"
#include "collector/query/json/json_text.h"
#include "report/format/report.h"

namespace lagwatch::collector {

class UsageDays {
 public:
  // A record counts on the day (UTC) on which it began.
  void Add(const report::Usage& usage);

  // An entry for each day, program and version, the newest day first; `limit` at most.
  Json ToJson(size_t limit) const;

 private:
  struct DayOfUse {
    HangRates rates;
    double watched_ns = 0;
    double hang_ns = 0;
    uint64_t hangs = 0;  // stops at the most that there is: numbers come from clients
  };

  std::map<std::tuple<int64_t, std::string, std::string>, DayOfUse>
      sums_;  // by minus the day, app and version
};

}  // namespace lagwatch::collector
