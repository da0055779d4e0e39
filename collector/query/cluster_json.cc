// SPDX-License-Identifier: Apache-2.0
#include "collector/query/cluster_json.h"

#include <algorithm>

namespace lagwatch::collector {
namespace {

Json DurationsJson(const CauseSums& sums) {
  // A sketch's percentile may lie a little beyond the longest.
  auto percentile = [&](int percent) {
    return ToMs(std::min(sums.durations.PercentileNs(percent), sums.longest_ns));
  };
  return {{"p50", percentile(50)}, {"p95", percentile(95)}, {"max", ToMs(sums.longest_ns)}};
}

Json VerdictsJson(const CauseRow& cause) {
  Json verdicts = Json::object();
  for (const auto& [verdict, hang_ns] : cause.verdicts) verdicts[verdict] = ToMs(hang_ns);
  return verdicts;
}

}  // namespace

Json ClusterJson(const CauseRow& cause, double all_hang_ns) {
  const Cluster& cluster = cause.cluster;
  const CauseSums& sums = cause.sums;
  Json children = Json::array();
  for (const CauseRow& child : cause.children) children.push_back(ClusterJson(child, all_hang_ns));
  return {{"key", cluster.key},
          {"level", cluster.level},
          {"parent", cluster.parent_key.empty() ? Json() : Json(cluster.parent_key)},
          {"frames", cluster.frames},
          {"via", cluster.via.empty() ? Json() : Json(cluster.via)},
          {"held_by", cluster.held_by},
          {"reports", sums.reports},
          {"lags", sums.lags},
          {"users", sums.users.Count()},
          {"hang_ms", ToMs(sums.hang_ns)},
          {"estimated", {{"lags", cause.estimated_lags}, {"hang_ms", ToMs(cause.estimated_hang_ns)}}},
          {"share", all_hang_ns > 0 ? cause.estimated_hang_ns / all_hang_ns : 0},
          {"duration_ms", DurationsJson(sums)},
          {"verdict_ms", VerdictsJson(cause)},
          {"apps", cause.apps},
          {"versions", cause.versions},
          {"first_seen_ms", sums.first_seen_ms},
          {"last_seen_ms", sums.last_seen_ms},
          {"children", std::move(children)}};
}

Json DaysJson(const std::vector<CausePeriod>& days) {
  Json json = Json::array();
  for (const CausePeriod& day : days) {
    json.push_back({{"begin_ms", day.begin_ms},
                    {"reports", day.sums.reports},
                    {"lags", day.sums.lags},
                    {"users", day.sums.users.Count()},
                    {"hang_ms", ToMs(day.sums.hang_ns)},
                    {"weighted_hang_ms", ToMs(day.sums.weighted_hang_ns)}});
  }
  return json;
}

}  // namespace lagwatch::collector
