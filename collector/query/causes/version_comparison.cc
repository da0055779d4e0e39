// SPDX-License-Identifier: Apache-2.0
#include "collector/query/causes/version_comparison.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "collector/query/causes/rate_interval.h"
#include "collector/query/json/cluster_json.h"

namespace lagwatch::collector {
namespace {

// One cause in one version; rates in ms per hour.
struct CauseSide {
  const ShownCause* cause = nullptr;  // null: it has no report of it
  double rate = 0;
  std::optional<RateInterval> interval = {};  // none without watched time
};

CauseSide SideOf(const ShownCause* cause, const ShownCause& other, const ComparedVersion& version) {
  const double watched_ns = version.watched_ns;
  CauseSide side{.cause = cause};
  if (cause != nullptr) {
    const Json rate = PerHourJson(cause->row.estimated_hang_ns, watched_ns);
    if (rate.is_null()) return side;
    side.rate = rate.get<double>();
    side.interval = IntervalOf(side.rate, cause->row.sums);
  } else if (watched_ns > 0 && !version.is_cut) {
    side.interval = RateInterval{.low = 0, .high = ToMs(MostNsWithoutHang(other.row.sums, watched_ns))};
  }
  return side;
}

Json SideJson(const CauseSide& side) {
  const CauseSums sums = side.cause == nullptr ? CauseSums() : side.cause->row.sums;
  const double estimated_ns = side.cause == nullptr ? 0 : side.cause->row.estimated_hang_ns;
  Json interval;
  if (side.interval) interval = {{"low", side.interval->low}, {"high", side.interval->high}};
  return {{"hangs", sums.hangs},
          {"users", sums.users.Count()},
          {"hang_ms", ToMs(estimated_ns)},
          {"hang_ms_per_hour", side.interval ? Json(side.rate) : Json()},
          {"hang_ms_per_hour_interval", std::move(interval)}};
}

struct ComparedCause {
  const ShownCause* cause;  // the newer version's, if it has it
  CauseSide baseline;
  CauseSide version;

  // Null: the intervals overlap, or are not known.
  const char* Change() const {
    if (!baseline.interval || !version.interval) return nullptr;
    if (version.interval->low > baseline.interval->high) return baseline.cause == nullptr ? "new" : "more";
    if (version.interval->high < baseline.interval->low) return version.cause == nullptr ? "gone" : "less";
    return nullptr;
  }
  double Cost() const { return std::max(baseline.rate, version.rate); }
  double HangNs() const {
    const auto of = [](const CauseSide& side) {
      return side.cause == nullptr ? 0 : side.cause->row.estimated_hang_ns;
    };
    return of(baseline) + of(version);
  }
};

std::vector<ComparedCause> Pairs(const ComparedVersion& baseline, const ComparedVersion& version) {
  std::map<std::string, std::pair<const ShownCause*, const ShownCause*>> by_key;
  for (const ShownCause& cause : baseline.page.causes) by_key[cause.row.cluster.key].first = &cause;
  for (const ShownCause& cause : version.page.causes) by_key[cause.row.cluster.key].second = &cause;
  std::vector<ComparedCause> pairs;
  for (const auto& [key, sides] : by_key) {
    const ShownCause& any = sides.second != nullptr ? *sides.second : *sides.first;
    pairs.push_back({.cause = &any,
                     .baseline = SideOf(sides.first, any, baseline),
                     .version = SideOf(sides.second, any, version)});
  }
  return pairs;
}

Json TotalJson(const ComparedVersion& version) {
  const CauseRow& all = version.page.all;
  return {{"version", version.version},
          {"watched_ms", ToMs(version.watched_ns)},
          {"hangs", all.sums.hangs},
          {"users", all.sums.users.Count()},
          {"hang_ms", ToMs(all.estimated_hang_ns)},
          {"hang_ms_per_hour", PerHourJson(all.estimated_hang_ns, version.watched_ns)}};
}

}  // namespace

Json VersionComparisonJson(const ComparedVersion& baseline, const ComparedVersion& version, size_t limit) {
  std::vector<ComparedCause> pairs = Pairs(baseline, version);
  std::ranges::stable_sort(pairs, [](const ComparedCause& a, const ComparedCause& b) {
    const bool is_sure = a.Change() != nullptr, is_other_sure = b.Change() != nullptr;
    if (is_sure != is_other_sure) return is_sure;
    return a.Cost() != b.Cost() ? a.Cost() > b.Cost() : a.HangNs() > b.HangNs();
  });
  Json causes = Json::array();
  NameRoom room;
  for (const ComparedCause& pair : pairs) {
    if (causes.size() == limit) break;
    const Json cluster = ClusterJson(*pair.cause, {}, &room);
    Json cause;
    for (const char* name : {"key", "title", "state", "frames", "via", "held_by"})
      cause[name] = cluster.at(name);
    cause["baseline"] = SideJson(pair.baseline);
    cause["version"] = SideJson(pair.version);
    const char* change = pair.Change();
    cause["change"] = change == nullptr ? Json() : Json(change);
    causes.push_back(std::move(cause));
  }
  const size_t more = pairs.size() - causes.size();
  return {{"baseline", TotalJson(baseline)},
          {"version", TotalJson(version)},
          {"causes", std::move(causes)},
          {"more_causes", more}};
}

}  // namespace lagwatch::collector
