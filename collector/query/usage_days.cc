// SPDX-License-Identifier: Apache-2.0
#include "collector/query/usage_days.h"

#include "collector/store/records.h"

namespace lagwatch::collector {

void UsageDays::Add(const report::Usage& usage) {
  const int64_t day = ToSigned(usage.begin_wall_ms) / kMsPerDay;
  DayOfUse& sum = sums_[{-day, usage.app, usage.app_version}];
  sum.rates.Add(usage);
  for (const report::LoopUsage& loop : usage.loops) {
    sum.watched_ns += static_cast<double>(loop.usage.watched_ns);
    sum.hang_ns += static_cast<double>(loop.usage.hang_ns);
    sum.hangs = loop.usage.hangs > UINT64_MAX - sum.hangs ? UINT64_MAX : sum.hangs + loop.usage.hangs;
  }
}

Json UsageDays::ToJson(size_t limit) const {
  Json json = Json::array();
  for (const auto& [key, sum] : sums_) {
    if (json.size() == limit) break;
    const auto& [minus_day, app, version] = key;
    json.push_back(WithOldNames(
        {{"app", app},
         {"version", version},
         {"day_ms", -minus_day * kMsPerDay},
         {"users", sum.rates.users()},
         {"watched_ms", ToMs(sum.watched_ns)},
         {"hangs", sum.hangs},
         {"hang_ms", ToMs(sum.hang_ns)},
         {"hang_ms_per_hour", sum.rates.ToJson()}},
        {{"hangs", "lags"}, {"hang_ms", "lagged_ms"}, {"hang_ms_per_hour", "lagged_ms_per_hour"}}));
  }
  return json;
}

}  // namespace lagwatch::collector
