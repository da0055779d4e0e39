// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <functional>
#include <map>
#include <string>
#include <utility>

#include "collector/query/causes/rate_interval.h"
#include "collector/query/cluster_queries.h"
#include "collector/query/json/cluster_json.h"
#include "policies/cluster/version_order.h"

namespace lagwatch::collector {
namespace {

void KeepThoseSeenLast(std::vector<CauseVersion>* versions) {
  auto last_seen_ms = [](const CauseVersion& version) { return version.sums.last_seen_ms; };
  std::ranges::stable_sort(*versions, std::greater(), last_seen_ms);
  if (versions->size() > kMaxVersions) versions->resize(kMaxVersions);
}

// By program.
std::map<std::string, std::string> OldestOf(const std::vector<CauseVersion>& versions) {
  std::map<std::string, std::string> oldest;
  for (const CauseVersion& version : versions) {
    const auto [known, is_new] = oldest.emplace(version.app, version.version);
    if (!is_new && policies::IsOlderVersion(version.version, known->second)) known->second = version.version;
  }
  return oldest;
}

// Null without watched time.
Json IntervalJson(const CauseVersion& version, const CauseSums& all, double watched_ns) {
  if (watched_ns <= 0) return {};
  if (version.sums.hangs == 0) return {{"low", 0.0}, {"high", ToMs(MostNsWithoutHang(all, watched_ns))}};
  const Json rate = PerHourJson(version.estimated_hang_ns, watched_ns);
  const RateInterval interval = IntervalOf(rate.get<double>(), version.sums);
  return {{"low", interval.low}, {"high", interval.high}};
}

Json VersionJson(const CauseVersion& version, const CauseSums& all, double watched_ns) {
  const CauseSums& sums = version.sums;
  return WithOldNames({{"app", version.app},
                       {"version", version.version},
                       {"reports", sums.reports},
                       {"hangs", sums.hangs},
                       {"users", sums.users.Count()},
                       {"hang_ms", ToMs(sums.hang_ns)},
                       {"estimated", {{"hang_ms", ToMs(version.estimated_hang_ns)}}},
                       {"hang_ms_per_hour", PerHourJson(version.estimated_hang_ns, watched_ns)},
                       {"hang_ms_per_hour_interval", IntervalJson(version, all, watched_ns)},
                       {"watched_ms", ToMs(watched_ns)},
                       {"first_seen_ms", sums.first_seen_ms},
                       {"last_seen_ms", sums.last_seen_ms}},
                      {{"hangs", "lags"}});
}

}  // namespace

Json CauseVersionsJson(std::vector<CauseVersion> versions, const std::vector<WatchedVersion>& watched) {
  const std::map<std::string, std::string> oldest = OldestOf(versions);
  CauseSums all;
  for (const CauseVersion& version : versions) all.Add(version.sums);
  std::map<std::pair<std::string, std::string>, double> watched_ns;
  for (const WatchedVersion& each : watched) watched_ns[{each.app, each.version}] = each.watched_ns;
  auto without = watched_ns;
  for (const CauseVersion& version : versions) without.erase({version.app, version.version});
  std::vector<CauseVersion> free_of_it;
  for (const WatchedVersion& each : watched) {
    const auto since = oldest.find(each.app);
    if (since == oldest.end() || !without.contains({each.app, each.version})) continue;
    if (each.watched_ns <= 0 || !policies::IsOlderVersion(since->second, each.version)) continue;
    CauseVersion version{.app = each.app, .version = each.version, .sums = {}};
    version.sums.first_seen_ms = each.first_day * kMsPerDay;
    version.sums.last_seen_ms = each.last_day * kMsPerDay;
    free_of_it.push_back(std::move(version));
  }
  KeepThoseSeenLast(&versions);
  KeepThoseSeenLast(&free_of_it);
  std::ranges::move(free_of_it, std::back_inserter(versions));
  std::ranges::stable_sort(versions, {},
                           [](const CauseVersion& version) { return version.sums.first_seen_ms; });
  Json json = Json::array();
  for (const CauseVersion& version : versions)
    json.push_back(VersionJson(version, all, watched_ns[{version.app, version.version}]));
  return json;
}

}  // namespace lagwatch::collector
