// SPDX-License-Identifier: Apache-2.0
#include "collector/query/cluster_queries.h"

#include <algorithm>
#include <cstdlib>
#include <map>

#include "base/clock.h"
#include "collector/query/causes/cause_breakdown.h"
#include "collector/query/causes/cause_samples.h"
#include "collector/query/causes/package_shares.h"
#include "collector/query/causes/version_comparison.h"
#include "collector/query/filter_parser.h"
#include "collector/query/json/report_json.h"
#include "collector/store/report_summer.h"
#include "collector/symbols/names/symbol_namer.h"
#include "policies/cluster/version_order.h"

namespace lagwatch::collector {
namespace {

constexpr int64_t kMsPerHour = 3'600'000;
constexpr int64_t kMaxOffset = 1'000'000;
constexpr int64_t kMaxDays = 90;
constexpr int64_t kMaxSampledOfEach = 10;
constexpr int64_t kDefaultSampledReports = 200;
constexpr size_t kMaxTextSearched = 200;
constexpr int64_t kMostLeastMs = 1'000'000'000;

bool IsOfSomeUsers(const ReportFilter& filter) {
  return !filter.user.empty() || !filter.os.empty() || !filter.distribution.empty();
}

Result<int64_t> LeastHangNs(const QueryString& query) {
  return LAGWATCH_TRY(query.GetInt("least_ms", 0, 0, kMostLeastMs)) * base::kNsPerMs;
}

Status NoSuchCluster() { return {StatusCode::kNotFound, "no such cluster; /v1/clusters lists them all"}; }

}  // namespace

Result<Json> ClusterQueries::List(const QueryString& query) const {
  auto level = LAGWATCH_TRY(query.GetInt("level", 1, 1, 2));
  auto limit = LAGWATCH_TRY(query.GetInt("limit", kDefaultLimit, 1, kMaxLimit));
  auto offset = LAGWATCH_TRY(query.GetInt("offset", 0, 0, kMaxOffset));
  auto days = LAGWATCH_TRY(query.GetInt("days", 0, 0, kMaxDays));
  auto sampled = LAGWATCH_TRY(query.GetInt("packages", 0, 0, kMaxSampledOfEach));
  auto filter = LAGWATCH_TRY(ParseFilter(query));
  filter.cluster_key.clear();
  const std::string text = query.Get("q");
  if (text.size() > kMaxTextSearched)
    return Status(StatusCode::kInvalid,
                  "q may have " + std::to_string(kMaxTextSearched) + " bytes, not more");
  auto states = LAGWATCH_TRY(ParseStates(query.Get("state")));
  const std::string new_in = query.Get("new_in");
  if (!new_in.empty() && !filter.version.empty() && filter.version != new_in)
    return Status(StatusCode::kInvalid, "new_in and version name two versions; give one of them");
  if (!new_in.empty() && filter.app.empty())
    return Status(StatusCode::kInvalid, "new_in needs app: versions of different programs have no order");
  if (!new_in.empty()) filter.version = new_in;
  auto page = LAGWATCH_TRY(Page(
      {.filter = filter, .level = static_cast<int>(level), .limit = limit, .offset = offset, .text = text},
      states, new_in));
  auto watched_ns = LAGWATCH_TRY(WatchedNs(filter));
  Json answer = Json::array();
  NameRoom room;
  for (const ShownCause& cause : page.causes)
    answer.push_back(ClusterJson(cause, {page.all.estimated_hang_ns, watched_ns}, &room));
  Status added = AddNotSeenSince(filter, &answer);
  if (added.ok() && days > 0) added = AddDays(page.causes, days, &answer);
  if (added.ok() && sampled > 0) added = AddPackages(page.causes, filter, sampled, &answer);
  return added.ok() ? Result<Json>(std::move(answer)) : added;
}

// Of the costliest ones of the version.
Result<ShownPage> ClusterQueries::Page(CauseQuery query, const CauseStates& states,
                                       const std::string& new_in) const {
  if (new_in.empty()) return annotated_.Causes(query, states);
  const auto first_versions = LAGWATCH_TRY(FirstVersions(query));
  const size_t offset = static_cast<size_t>(query.offset);
  const size_t wanted = offset + static_cast<size_t>(query.limit);
  query.offset = 0;
  query.limit = kMaxLimit;
  auto page = LAGWATCH_TRY(annotated_.Causes(query, states));
  std::vector<ShownCause> fresh;
  for (ShownCause& cause : page.causes) {
    if (fresh.size() == wanted) break;
    const auto known = first_versions.find(cause.row.cluster.key);
    const std::string first =
        known != first_versions.end() ? known->second : LAGWATCH_TRY(FirstVersionOf(cause, query.filter.app));
    if (!policies::IsOlderVersion(first, new_in)) fresh.push_back(std::move(cause));
  }
  fresh.erase(fresh.begin(), fresh.begin() + static_cast<ptrdiff_t>(std::min(offset, fresh.size())));
  page.causes = std::move(fresh);
  return page;
}

// Of the costliest causes of all versions and times: most are among them.
Result<std::map<std::string, std::string>> ClusterQueries::FirstVersions(const CauseQuery& query) const {
  const auto page = LAGWATCH_TRY(
      annotated_.Causes({.filter = {.app = query.filter.app}, .level = query.level, .limit = kMaxLimit}));
  std::map<std::string, std::string> versions;
  for (const ShownCause& cause : page.causes) versions[cause.row.cluster.key] = cause.row.first_version;
  return versions;
}

Result<std::string> ClusterQueries::FirstVersionOf(const ShownCause& cause, const std::string& app) const {
  std::string first;
  for (const CauseVersion& each : LAGWATCH_TRY(annotated_.Versions(cause, {.app = app}))) {
    if (!each.version.empty() && (first.empty() || policies::IsOlderVersion(each.version, first)))
      first = each.version;
  }
  return first;
}

Status ClusterQueries::AddDays(const std::vector<ShownCause>& causes, int64_t count, Json* list) const {
  const int64_t today = base::SystemClock().WallMs() / kMsPerDay;
  auto costs = LAGWATCH_TRY(annotated_.CostByDay(causes, today - count + 1, today));
  for (size_t i = 0; i < costs.size(); ++i) {
    Json days = Json::array();
    for (const CauseDay& day : costs[i])
      days.push_back({{"begin_ms", day.day * kMsPerDay}, {"hang_ms", ToMs(day.weighted_hang_ns)}});
    (*list)[i]["days"] = std::move(days);
  }
  return {};
}

Status ClusterQueries::AddPackages(const std::vector<ShownCause>& causes, const ReportFilter& filter,
                                   int64_t reports, Json* list) const {
  for (size_t i = 0; i < causes.size(); ++i) {
    ReportFilter of_cause = filter;
    of_cause.cluster_key = causes[i].row.cluster.key;
    std::vector<base::Uuid> ids;
    for (const ReportRow& row : LAGWATCH_TRY(annotated_.Reports(of_cause, reports)))
      if (IsCounted(row.kind)) ids.push_back(row.id);
    PackageShares packages;
    for (const StoredReport& stored : LAGWATCH_TRY(store_->FindReports(ids))) {
      const auto report = DecodeStored(stored);
      if (!report.ok()) continue;
      const SymbolNamer namer(*report, symbolizer_);
      const NamedStacks names(*report, namer, rules_);
      for (const StackTime& time : StackTimesOf(stored.row, *report, INT64_MIN))
        packages.Add(report->stacks[time.stack], names, time.ns);
    }
    (*list)[i]["packages"] = packages.ToJson();
  }
  return {};
}

// Of an app and all its versions: in a part of them, one that has the cause may be missing.
Status ClusterQueries::AddNotSeenSince(const ReportFilter& filter, Json* list) const {
  constexpr double kEnoughNs = 3.6e12;
  for (Json& cause : *list) cause["not_seen_since"] = Json();
  if (filter != ReportFilter{.app = filter.app} || list->empty()) return {};
  std::map<std::string, std::string> newest;  // by program
  for (const WatchedVersion& each : LAGWATCH_TRY(store_->WatchedVersions({.app = filter.app}))) {
    if (each.watched_ns < kEnoughNs) continue;
    std::string& version = newest[each.app];
    if (version.empty() || policies::IsOlderVersion(version, each.version)) version = each.version;
  }
  for (Json& cause : *list) {
    if (cause["apps"].size() != 1 || cause["more_apps"] != 0 || cause["last_version"].is_null()) continue;
    const auto last = cause["last_version"].get<std::string>();
    const auto known = newest.find(cause["apps"][0].get<std::string>());
    if (known != newest.end() && policies::IsOlderVersion(last, known->second))
      cause["not_seen_since"] = last;
  }
  return {};
}

Result<Json> ClusterQueries::Compare(const QueryString& query) const {
  auto level = LAGWATCH_TRY(query.GetInt("level", 1, 1, 2));
  auto limit = LAGWATCH_TRY(query.GetInt("limit", kDefaultLimit, 1, kMaxLimit));
  auto filter = LAGWATCH_TRY(ParseFilter(query));
  filter.cluster_key.clear();
  ComparedVersion compared[2] = {{.version = query.Get("baseline")}, {.version = query.Get("version")}};
  for (ComparedVersion& each : compared) {
    if (each.version.empty()) return Status(StatusCode::kInvalid, "name two versions: baseline and version");
    filter.version = each.version;
    // A cause that is past the limit of one version may be within that of the other.
    each.page = LAGWATCH_TRY(annotated_.Causes(
        {.filter = filter, .level = static_cast<int>(level), .limit = kMaxLimit, .child_limit = 0}, {}));
    each.is_cut = each.page.causes.size() >= static_cast<size_t>(kMaxLimit);
    each.watched_ns = LAGWATCH_TRY(WatchedNs(filter));
    if (each.page.causes.empty() && each.watched_ns == 0)
      return Status(StatusCode::kNotFound,
                    "no version '" + each.version + "' was watched; /v1/usage lists them");
  }
  return VersionComparisonJson(compared[0], compared[1], static_cast<size_t>(limit));
}

// Of one user, or of one system's users, it is not kept.
Result<double> ClusterQueries::WatchedNs(const ReportFilter& filter) const {
  return IsOfSomeUsers(filter) ? 0.0 : store_->WatchedNs(filter);
}

Result<CostOfAll> ClusterQueries::CostOf(const ReportFilter& filter) const {
  auto all = LAGWATCH_TRY(store_->Causes({.filter = filter, .limit = 0}));
  auto watched_ns = LAGWATCH_TRY(WatchedNs(filter));
  return CostOfAll{all.all.estimated_hang_ns, watched_ns};
}

Result<Json> ClusterQueries::One(const std::string& key, const QueryString& query) const {
  auto filter = LAGWATCH_TRY(ParseFilter(query));
  const std::string by = query.Get("by");
  if (!by.empty() && by != "version") return Status(StatusCode::kInvalid, "by must be version");
  auto found = LAGWATCH_TRY(annotated_.Find(key, filter));
  if (!found) return NoSuchCluster();
  const ShownCause& cause = *found;
  auto all = LAGWATCH_TRY(CostOf(filter));
  NameRoom room;
  Json answer = ClusterJson(cause, all, &room);
  answer["days"] = PeriodsJson(LAGWATCH_TRY(annotated_.Days(cause)));
  if (query.Get("trend") == "hour") answer["hours"] = LAGWATCH_TRY(Hours(cause, filter));
  if (by == "version") answer["by_version"] = LAGWATCH_TRY(Versions(cause, filter));
  Status added = AddReports(cause, filter, &answer);
  return added.ok() ? Result<Json>(std::move(answer)) : added;
}

Result<Json> ClusterQueries::Breakdown(const std::string& key, const QueryString& query) const {
  auto filter = LAGWATCH_TRY(ParseFilter(query));
  auto members = LAGWATCH_TRY(annotated_.MemberKeys(key));
  CauseBreakdown breakdown(LAGWATCH_TRY(LeastHangNs(query)));
  bool has_any = false;
  for (const std::string& member : members) {
    filter.cluster_key = member;
    Status visited = store_->ForEachReport(filter, [&](const ReportRow& report) {
      has_any = true;
      breakdown.Add(report);
    });
    if (!visited.ok()) return visited;
  }
  return has_any ? Result<Json>(breakdown.ToJson()) : NoSuchCluster();
}

Result<Json> ClusterQueries::BreakdownOfAll(const QueryString& query) const {
  auto filter = LAGWATCH_TRY(ParseFilter(query));
  CauseBreakdown breakdown(LAGWATCH_TRY(LeastHangNs(query)));
  Status visited = store_->ForEachReport(filter, [&](const ReportRow& report) { breakdown.Add(report); });
  return visited.ok() ? Result<Json>(breakdown.ToJson()) : visited;
}

// Some at a time: the last ones may not be needed.
Result<Json> ClusterQueries::Samples(const std::string& key, const QueryString& query) const {
  constexpr size_t kAtOnce = 50;
  auto limit = LAGWATCH_TRY(query.GetInt("limit", kDefaultSampledReports, 1, kMaxLimit));
  auto filter = LAGWATCH_TRY(ParseFilter(query));
  filter.cluster_key = LAGWATCH_TRY(annotated_.ShownKey(key));
  auto rows = LAGWATCH_TRY(annotated_.Reports(filter, limit));
  std::erase_if(rows, [](const ReportRow& row) { return !IsCounted(row.kind); });
  if (rows.empty()) return NoSuchCluster();
  CauseSamples samples(rows, rules_, symbolizer_);
  bool has_room = true;
  for (size_t begin = 0; begin < rows.size() && has_room; begin += kAtOnce) {
    std::vector<base::Uuid> ids;
    for (size_t i = begin; i < std::min(begin + kAtOnce, rows.size()); ++i) ids.push_back(rows[i].id);
    auto stored = LAGWATCH_TRY(store_->FindReports(ids));
    for (auto each = stored.rbegin(); each != stored.rend() && has_room; ++each) {
      const auto report = DecodeStored(*each);
      if (report.ok()) has_room = samples.TryAdd(each->row, *report);
    }
  }
  Json answer = samples.ToJson();
  // Lines are those of one program, and of its newest version with the cause.
  const ReportRow& newest = rows.front();
  const bool is_one_app =
      std::ranges::all_of(rows, [&](const ReportRow& row) { return row.app == newest.app; });
  answer["source"] = is_one_app ? SourceJson(sources_, newest.app, newest.version) : Json();
  return answer;
}

// One of them in full, and what the newest are called.
Status ClusterQueries::AddReports(const ShownCause& cause, ReportFilter filter, Json* answer) const {
  filter.cluster_key = cause.row.cluster.key;
  auto reports = LAGWATCH_TRY(annotated_.Reports(filter, kDefaultLimit));
  auto chosen = LAGWATCH_TRY(Representative(cause, reports));
  if (!chosen) return NoSuchCluster();
  auto decoded = LAGWATCH_TRY(DecodeStored(*chosen));
  (*answer)["representative"] = base::ToString(chosen->row.id);
  const SymbolNamer namer(decoded, symbolizer_);
  (*answer)["stack"] = ExpensiveStackJson(decoded, namer, NamedStacks(decoded, namer, rules_));
  (*answer)["names_pending"] = namer.is_unavailable();
  (*answer)["report_ids"] = Json::array();
  for (const ReportRow& report : reports) (*answer)["report_ids"].push_back(base::ToString(report.id));
  return {};
}

// The watched time of one user's versions is unknown.
Result<Json> ClusterQueries::Versions(const ShownCause& cause, const ReportFilter& filter) const {
  auto versions = LAGWATCH_TRY(annotated_.Versions(cause, filter));
  Result<std::vector<WatchedVersion>> watched = std::vector<WatchedVersion>();
  if (!IsOfSomeUsers(filter)) watched = store_->WatchedVersions(filter);
  if (!watched.ok()) return watched.status();
  return CauseVersionsJson(std::move(versions), *watched);
}

// Of the newest, the one whose hang is counted here and lasted about as long as most of the cause's do.
Result<std::optional<StoredReport>> ClusterQueries::Representative(
    const ShownCause& cause, const std::vector<ReportRow>& newest) const {
  if (newest.empty()) return std::optional<StoredReport>();
  const int64_t median_ns = cause.row.sums.durations.PercentileNs(50);
  auto distance = [&](const ReportRow& report) {
    return std::pair(!report.is_lead, std::abs(HangDurationNs(report) - median_ns));
  };
  const auto chosen = std::ranges::min_element(newest, {}, distance);
  return store_->FindReport(chosen->id);
}

// Of the filter's days or, without one, the week up to the last report.
Result<Json> ClusterQueries::Hours(const ShownCause& cause, const ReportFilter& filter) const {
  ReportFilter part = filter;
  if (!part.last_day) part.last_day = cause.row.sums.last_seen_ms / kMsPerDay;
  if (!part.first_day) part.first_day = *part.last_day - 6;
  std::map<int64_t, CauseSums> hours;
  for (const std::string& key : cause.keys()) {
    part.cluster_key = key;
    Status visited = store_->ForEachReport(part, [&](const ReportRow& report) {
      const Contribution contribution = ContributionOf(report);
      contribution.AddTo(&hours[report.start_wall_ms / kMsPerHour * kMsPerHour], 1);
    });
    if (!visited.ok()) return visited;
  }
  std::vector<CausePeriod> periods;
  for (auto& [begin_ms, sums] : hours) periods.push_back({begin_ms, std::move(sums)});
  return PeriodsJson(periods);
}

}  // namespace lagwatch::collector
