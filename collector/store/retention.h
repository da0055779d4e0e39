// SPDX-License-Identifier: Apache-2.0
// The days that records are kept. Context: background; pure.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>

namespace lagwatch::collector {

struct Retention {
  int64_t days = 0;                                               // 0: for ever
  std::map<std::string, int64_t, std::less<>> days_of_apps = {};  // programs with a retention of their own

  int64_t DaysOf(std::string_view app) const {
    const auto own = days_of_apps.find(app);
    return own == days_of_apps.end() ? days : own->second;
  }
  // Records older than that are kept of no program; 0: there are none.
  int64_t LongestDays() const {
    int64_t longest = days;
    for (const auto& [app, own] : days_of_apps) longest = longest == 0 ? 0 : std::max(longest, own);
    return longest;
  }
};

}  // namespace lagwatch::collector
