// SPDX-License-Identifier: Apache-2.0
#include "collector/query/usage/usage_hours.h"

#include <algorithm>

#include "collector/store/records.h"

namespace lagwatch::collector {
namespace {

constexpr int64_t kMsOfAnHour = 3'600'000;
constexpr int64_t kHoursOfADay = 24;

// With three decimals: a record's part in an hour is a fraction.
double ShownCount(double count) {
  constexpr double kNsOfOneMs = 1'000'000;
  return ToMs(count * kNsOfOneMs);
}

}  // namespace

void UsageHours::Add(const report::Usage& usage, std::string_view loop) {
  const int64_t begin_ms = ToSigned(usage.begin_wall_ms);
  const int64_t end_ms = ToSigned(usage.end_wall_ms);
  // Numbers come from clients.
  if (begin_ms < 0 || end_ms < begin_ms || end_ms - begin_ms > kLongestMs) return;
  HourOfUse sum;
  for (const report::LoopUsage& each : usage.loops) {
    if (!loop.empty() && each.loop != loop) continue;
    sum.watched_ns += static_cast<double>(each.usage.watched_ns);
    for (size_t i = 0; i < sum.counts.size(); ++i)
      sum.counts[i] += static_cast<double>(each.usage.durations.counts[i]);
  }
  if (std::ranges::all_of(sum.counts, [](double count) { return count == 0; }) && sum.watched_ns == 0) return;
  const auto whole_ms = static_cast<double>(std::max<int64_t>(end_ms - begin_ms, 1));
  for (int64_t hour = begin_ms / kMsOfAnHour; hour <= end_ms / kMsOfAnHour; ++hour) {
    const int64_t from_ms = std::max(begin_ms, hour * kMsOfAnHour);
    const int64_t to_ms = std::min(end_ms, hour * kMsOfAnHour + kMsOfAnHour);
    const double part = begin_ms == end_ms ? 1 : static_cast<double>(to_ms - from_ms) / whole_ms;
    if (part <= 0) continue;
    HourOfUse& known = sums_[{-hour, usage.app}];
    known.watched_ns += part * sum.watched_ns;
    for (size_t i = 0; i < sum.counts.size(); ++i) known.counts[i] += part * sum.counts[i];
  }
}

Json UsageHours::ToJson(int64_t first_day, int64_t last_day, size_t limit) const {
  Json json = Json::array();
  for (const auto& [key, sum] : sums_) {
    if (json.size() == limit) break;
    const auto& [minus_hour, app] = key;
    const int64_t day = -minus_hour / kHoursOfADay;
    if (day < first_day || day > last_day) continue;
    double dispatches = 0;
    Json durations = Json::array();
    for (size_t i = 0; i < sum.counts.size(); ++i) {
      dispatches += sum.counts[i];
      if (ShownCount(sum.counts[i]) > 0)
        durations.push_back(
            {{"from_ms", policies::DurationHistogram::FirstMsOf(i)}, {"count", ShownCount(sum.counts[i])}});
    }
    json.push_back({{"app", app},
                    {"hour_ms", -minus_hour * kMsOfAnHour},
                    {"watched_ms", ToMs(sum.watched_ns)},
                    {"dispatches", ShownCount(dispatches)},
                    {"durations", std::move(durations)}});
  }
  return json;
}

}  // namespace lagwatch::collector
