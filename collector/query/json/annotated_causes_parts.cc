// SPDX-License-Identifier: Apache-2.0
// The sums of causes by versions and by days.
#include <algorithm>
#include <iterator>
#include <map>
#include <utility>

#include "base/text.h"
#include "collector/query/json/annotated_causes.h"

namespace lagwatch::collector {

Result<CauseStates> ParseStates(std::string_view text) {
  constexpr std::string_view kAll[] = {"new", "known", "regressed", "fixed", "ignored"};
  if (text == "all") return CauseStates();
  if (text.empty()) text = "new,known,regressed";
  CauseStates states;
  while (!text.empty()) {
    const bool ends_in_none = text.ends_with(',');
    const std::string_view state = base::TakeUntil(',', &text);
    if (ends_in_none || std::ranges::find(kAll, state) == std::end(kAll))
      return Status(StatusCode::kInvalid, "state must be all, or some of new,known,regressed,fixed,ignored");
    states.emplace(state);
  }
  return states;
}

std::vector<std::string> ShownCause::keys() const {
  std::vector<std::string> keys = merged_keys;
  keys.push_back(row.cluster.key);
  return keys;
}

Result<std::vector<CauseVersion>> AnnotatedCauses::Versions(const ShownCause& cause,
                                                            const ReportFilter& filter) const {
  std::map<std::pair<std::string, std::string>, CauseVersion> versions;
  for (const std::string& key : cause.keys()) {
    auto part = LAGWATCH_TRY(store_->CauseVersions(key, filter));
    for (CauseVersion& version : part) {
      CauseVersion& sum = versions[{version.app, version.version}];
      sum.sums.Add(version.sums);
      sum.estimated_hang_ns += version.estimated_hang_ns;
    }
  }
  std::vector<CauseVersion> all;
  for (auto& [name, sum] : versions)
    all.push_back({name.first, name.second, std::move(sum.sums), sum.estimated_hang_ns});
  return all;
}

Result<std::vector<CausePeriod>> AnnotatedCauses::Days(const ShownCause& cause) const {
  std::map<int64_t, CauseSums> days;
  for (const std::string& key : cause.keys()) {
    auto part = LAGWATCH_TRY(store_->CauseDays(key));
    for (const CausePeriod& day : part) days[day.begin_ms].Add(day.sums);
  }
  std::vector<CausePeriod> periods;
  for (auto& [begin_ms, sums] : days) periods.push_back({begin_ms, std::move(sums)});
  return periods;
}

Result<std::vector<std::vector<CauseDay>>> AnnotatedCauses::CostByDay(const std::vector<ShownCause>& causes,
                                                                      int64_t first_day,
                                                                      int64_t last_day) const {
  std::vector<std::string> keys;
  for (const ShownCause& cause : causes) std::ranges::move(cause.keys(), std::back_inserter(keys));
  auto days = LAGWATCH_TRY(store_->CostByDay(keys, first_day, last_day));
  std::vector<std::vector<CauseDay>> shown;
  for (const ShownCause& cause : causes) {
    std::map<int64_t, double> sums;
    for (const std::string& key : cause.keys()) {
      for (const CauseDay& day : days[key]) sums[day.day] += day.weighted_hang_ns;
    }
    shown.emplace_back();
    for (const auto& [day, hang_ns] : sums) shown.back().push_back({day, hang_ns});
  }
  return shown;
}

}  // namespace lagwatch::collector
