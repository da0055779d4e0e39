// SPDX-License-Identifier: Apache-2.0
#include "collector/query/json/cluster_json.h"

#include <algorithm>
#include <utility>

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

// At the end of a character.
std::string Shortened(const std::string& text) {
  if (text.size() <= kMostTextBytes) return text;
  size_t end = kMostTextBytes;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xc0) == 0x80) --end;
  return text.substr(0, end) + "…";
}

Json Shortened(const std::vector<std::string>& texts) {
  Json shortened = Json::array();
  for (const std::string& text : texts) shortened.push_back(Shortened(text));
  return shortened;
}

// Null where the store does not know.
Json CappedJson(const CauseRow& cause) {
  if (!cause.is_capped_known) return {};
  return {{"reports", cause.sums.capped_reports}, {"hang_ms", ToMs(std::max(cause.sums.capped_ns, 0.0))}};
}

Json TextOrNull(const std::string& text) { return text.empty() ? Json() : Json(text); }

Json CostJson(const CauseRow& cause, const CostOfAll& all, NameRoom* room) {
  const Cluster& cluster = cause.cluster;
  const CauseSums& sums = cause.sums;
  int64_t more_apps = cause.more_apps;
  int64_t more_versions = cause.more_versions;
  Json apps = room->Take(cause.apps, &more_apps);
  Json versions = room->Take(cause.versions, &more_versions);
  Json children = Json::array();
  for (const CauseRow& child : cause.children) children.push_back(CostJson(child, all, room));
  Json json = {{"key", cluster.key},
               {"level", cluster.level},
               {"parent", cluster.parent_key.empty() ? Json() : Json(cluster.parent_key)},
               {"frames", Shortened(cluster.frames)},
               {"via", cluster.via.empty() ? Json() : Json(Shortened(cluster.via))},
               {"held_by", Shortened(cluster.held_by)},
               {"reports", sums.reports},
               {"hangs", sums.hangs},
               {"users", sums.users.Count()},
               {"hang_ms", ToMs(sums.hang_ns)},
               {"estimated",
                WithOldNames({{"hangs", cause.estimated_hangs}, {"hang_ms", ToMs(cause.estimated_hang_ns)}},
                             {{"hangs", "lags"}})},
               {"capped", CappedJson(cause)},
               {"share", all.hang_ns > 0 ? cause.estimated_hang_ns / all.hang_ns : 0},
               {"hang_ms_per_hour", PerHourJson(cause.estimated_hang_ns, all.watched_ns)},
               {"duration_ms", DurationsJson(sums)},
               {"verdict_ms", VerdictsJson(cause)},
               {"apps", std::move(apps)},
               {"versions", std::move(versions)},
               {"more_apps", more_apps},
               {"more_versions", more_versions},
               {"first_version", TextOrNull(cause.first_version)},
               {"last_version", TextOrNull(cause.last_version)},
               {"first_seen_ms", sums.first_seen_ms},
               {"last_seen_ms", sums.last_seen_ms},
               {"children", std::move(children)}};
  return WithOldNames(std::move(json), {{"hangs", "lags"}});
}

}  // namespace

Json PerHourJson(double hang_ns, double watched_ns) {
  constexpr double kNsPerHour = 3.6e12;
  return watched_ns > 0 ? Json(ToMs(hang_ns / (watched_ns / kNsPerHour))) : Json();
}

Json NameRoom::Take(const std::vector<std::string>& names, int64_t* more) {
  Json taken = Json::array();
  for (const std::string& name : names) {
    if (name.size() >= left_bytes_) break;
    left_bytes_ -= name.size() + 1;
    taken.push_back(name);
  }
  *more += static_cast<int64_t>(names.size() - taken.size());
  return taken;
}

Json ClusterJson(const ShownCause& cause, const CostOfAll& all, NameRoom* room) {
  Json json = CostJson(cause.row, all, room);
  const ClusterNote& note = cause.note;
  json["title"] = note.title.empty() ? Json() : Json(note.title);
  json["link"] = note.link.empty() ? Json() : Json(note.link);
  json["state"] = StateOf(cause);
  json["fixed_in"] = note.fixed_in.empty() ? Json() : Json(note.fixed_in);
  json["is_split"] = note.is_split;
  json["merged"] = cause.merged_keys;
  return json;
}

Json PeriodsJson(const std::vector<CausePeriod>& periods) {
  Json json = Json::array();
  for (const CausePeriod& period : periods) {
    json.push_back(WithOldNames({{"begin_ms", period.begin_ms},
                                 {"reports", period.sums.reports},
                                 {"hangs", period.sums.hangs},
                                 {"users", period.sums.users.Count()},
                                 {"hang_ms", ToMs(period.sums.hang_ns)},
                                 {"weighted_hang_ms", ToMs(period.sums.weighted_hang_ns)}},
                                {{"hangs", "lags"}}));
  }
  return json;
}

}  // namespace lagwatch::collector
