// SPDX-License-Identifier: Apache-2.0
#include "collector/store/sqlite/cause_reader.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "collector/store/report_summer.h"
#include "collector/store/sqlite/report_reader.h"

#define LAGWATCH_SUMS                                                                                 \
  "reports, lags, hang_ns, weighted_lags, weighted_hang_ns, longest_ns, first_seen_ms, last_seen_ms," \
  " sketches, lost_reports"
#define LAGWATCH_CLUSTER \
  "clusters.key, clusters.level, coalesce(parents.key, ''), clusters.frames, clusters.via, clusters.held_by"
#define LAGWATCH_CLUSTERS "clusters LEFT JOIN clusters AS parents ON parents.id = clusters.parent"

namespace lagwatch::collector {
namespace {

constexpr int64_t kMostByWalk = 2000;

CauseSums ReadSums(const Statement& row, int first_column) {
  CauseSums sums;
  sums.reports = row.Int(first_column);
  sums.lags = row.Int(first_column + 1);
  sums.hang_ns = row.Real(first_column + 2);
  sums.weighted_lags = row.Real(first_column + 3);
  sums.weighted_hang_ns = row.Real(first_column + 4);
  sums.longest_ns = row.Int(first_column + 5);
  sums.first_seen_ms = row.Int(first_column + 6);
  sums.last_seen_ms = row.Int(first_column + 7);
  DecodeSketches(row.Bytes(first_column + 8), &sums);
  return sums;
}

Cluster ReadClusterAt(const Statement& row) {
  return {.key = row.Text(0),
          .level = static_cast<int>(row.Int(1)),
          .parent_key = row.Text(2),
          .frames = NamesFromJson(row.Text(3)),
          .via = row.Text(4),
          .held_by = NamesFromJson(row.Text(5))};
}

// Which of the sums that are kept for each cluster make up what matches: the sum of all, those of some
// segments, or those of some days.
struct Scope {
  std::string segments = "[0]";
  int64_t first_day = 0;
  int64_t last_day = 0;

  bool is_all() const { return segments == "[0]" && last_day == 0; }
  bool is_of_days() const { return segments == "[0]" && last_day != 0; }
};

class SumsReader {
 public:
  SumsReader(Database* database, Scope scope) : database_(database), scope_(std::move(scope)) {
    const auto segments = nlohmann::json::parse(scope_.segments);
    segments_.insert(segments.begin(), segments.end());
  }

  std::vector<int64_t> Costliest(int level, int64_t limit, int64_t offset) {
    if (scope_.is_all()) return CostliestInAll(level, limit, offset);
    // What makes up much of all is found soon among the costliest of all; what is little is summed up soon.
    const bool is_much = ReportsIn(scope_) * 10 >= ReportsIn({});
    if (is_much && offset + limit <= kMostByWalk) return CostliestByWalk(level, limit, offset);
    Statement rows = database_->Use(
        "SELECT cluster FROM cluster_sums WHERE level = ?1 AND segment IN (SELECT value FROM json_each(?2))"
        " AND day BETWEEN ?3 AND ?4 GROUP BY cluster ORDER BY total(estimated_hang_ns) DESC, cluster"
        " LIMIT ?5 OFFSET ?6");
    rows.Bind(int64_t{level}, scope_.segments, scope_.first_day, scope_.last_day, limit, offset);
    std::vector<int64_t> clusters;
    while (rows.Step()) clusters.push_back(rows.Int(0));
    return clusters;
  }

  CauseRow Read(int64_t cluster) { return ReadIn(scope_, cluster); }

  CauseRow Describe(int64_t cluster) {
    const std::vector<SegmentSum> segments = SegmentsOfCluster(cluster);
    CauseRow cause = ReadIn(IsWhole(cluster, segments) ? Scope() : scope_, cluster);
    Statement named =
        database_->Use("SELECT " LAGWATCH_CLUSTER " FROM " LAGWATCH_CLUSTERS " WHERE clusters.id = ?");
    named.Bind(cluster);
    if (named.Step()) cause.cluster = ReadClusterAt(named);
    AddSegments(segments, &cause);
    return cause;
  }

  // Of more children than these, those that cost least in all are not looked at.
  std::vector<CauseRow> Children(int64_t parent, int64_t limit) {
    std::vector<CauseRow> children;
    Statement rows = database_->Use(
        "SELECT cluster FROM cluster_sums WHERE parent = ?1 AND parent != 0 AND segment = 0 AND day = 0"
        " ORDER BY estimated_hang_ns DESC LIMIT ?2");
    rows.Bind(parent, scope_.is_all() ? limit : kAllChildren);
    while (rows.Step()) {
      CauseRow child = Describe(rows.Int(0));
      if (child.sums.reports > 0) children.push_back(std::move(child));
    }
    SortByCost(&children);
    if (static_cast<int64_t>(children.size()) > limit) children.resize(static_cast<size_t>(limit));
    return children;
  }

 private:
  struct SegmentSum {
    int64_t segment;
    double hang_ns;
    double estimated_hang_ns;
  };
  struct SegmentNames {
    std::string app, version, verdict;
  };

  CauseRow ReadIn(const Scope& scope, int64_t cluster) {
    CauseRow cause;
    double lost_per_report = 0;
    {
      Statement all = database_->Use(
          "SELECT lost_reports / max(reports, 1) FROM cluster_sums WHERE cluster = ? AND segment = 0 AND day "
          "= 0");
      all.Bind(cluster);
      if (all.Step()) lost_per_report = all.Real(0);
    }
    Statement rows =
        database_->Use("SELECT " LAGWATCH_SUMS
                       " FROM cluster_sums WHERE cluster = ?1"
                       " AND segment IN (SELECT value FROM json_each(?2)) AND day BETWEEN ?3 AND ?4");
    rows.Bind(cluster, scope.segments, scope.first_day, scope.last_day);
    while (rows.Step()) cause.sums.Add(ReadSums(rows, 0));
    Estimate(lost_per_report, &cause);
    return cause;
  }

  std::vector<int64_t> CostliestInAll(int level, int64_t limit, int64_t offset) {
    Statement rows = database_->Use(
        "SELECT cluster FROM cluster_sums WHERE level = ?1 AND segment = 0 AND day = 0 AND estimated_hang_ns "
        ">= 0"
        " ORDER BY estimated_hang_ns DESC, cluster LIMIT ?2 OFFSET ?3");
    rows.Bind(int64_t{level}, limit, offset);
    std::vector<int64_t> clusters;
    while (rows.Step()) clusters.push_back(rows.Int(0));
    return clusters;
  }

  // A cluster costs no more in a part of all than it costs in all: from the costliest in all down, until no
  // other can come in. After Fagin, Lotem, Naor: Optimal aggregation algorithms for middleware, PODS 2001.
  std::vector<int64_t> CostliestByWalk(int level, int64_t limit, int64_t offset) {
    const auto wanted = static_cast<size_t>(offset + limit);
    std::set<std::pair<double, int64_t>> found;  // minus the cost, and the cluster
    Statement rows = database_->Use(
        "SELECT cluster, estimated_hang_ns FROM cluster_sums WHERE level = ? AND segment = 0 AND day = 0"
        " ORDER BY estimated_hang_ns DESC");
    rows.Bind(int64_t{level});
    while (wanted > 0 && rows.Step()) {
      if (found.size() == wanted && rows.Real(1) < -found.rbegin()->first) break;
      if (const auto cost = CostOf(rows.Int(0))) found.emplace(-*cost, rows.Int(0));
      if (found.size() > wanted) found.erase(std::prev(found.end()));
    }
    std::vector<int64_t> clusters;
    for (const auto& [cost, cluster] : found) clusters.push_back(cluster);
    clusters.erase(clusters.begin(),
                   clusters.begin() + std::min(offset, static_cast<int64_t>(clusters.size())));
    return clusters;
  }

  // In the scope; nothing when there are no reports of it.
  std::optional<double> CostOf(int64_t cluster) {
    std::optional<double> cost;
    if (!scope_.is_of_days()) {
      for (const SegmentSum& sum : SegmentsOfCluster(cluster))
        if (segments_.contains(sum.segment)) cost = cost.value_or(0) + sum.estimated_hang_ns;
      return cost;
    }
    Statement rows = database_->Use(
        "SELECT estimated_hang_ns FROM cluster_sums WHERE cluster = ?1 AND segment = 0"
        " AND day BETWEEN ?2 AND ?3 AND reports > 0");
    rows.Bind(cluster, scope_.first_day, scope_.last_day);
    while (rows.Step()) cost = cost.value_or(0) + rows.Real(0);
    return cost;
  }

  // By an index that has all of it: the sketches between these rows are many times as large.
  std::vector<SegmentSum> SegmentsOfCluster(int64_t cluster) {
    Statement rows = database_->Use(
        "SELECT segment, hang_ns, estimated_hang_ns FROM cluster_sums INDEXED BY cluster_sums_of_segments"
        " WHERE cluster = ? AND segment > 0 AND reports > 0");
    rows.Bind(cluster);
    std::vector<SegmentSum> sums;
    while (rows.Step()) sums.push_back({rows.Int(0), rows.Real(1), rows.Real(2)});
    return sums;
  }

  // Whether the scope leaves out none of its reports: most clusters are of one program.
  bool IsWhole(int64_t cluster, const std::vector<SegmentSum>& segments) {
    if (scope_.is_all()) return true;
    if (!scope_.is_of_days())
      return std::ranges::all_of(segments, [&](const auto& sum) { return segments_.contains(sum.segment); });
    Statement outside = database_->Use(
        "SELECT 1 FROM cluster_sums WHERE cluster = ?1 AND segment = 0 AND (day BETWEEN 1 AND ?2 - 1 OR day "
        "> ?3)"
        " AND reports > 0 LIMIT 1");
    outside.Bind(cluster, scope_.first_day, scope_.last_day);
    return !outside.Step();
  }

  int64_t ReportsIn(const Scope& scope) {
    Statement rows = database_->Use(
        "SELECT sum(reports) FROM cluster_sums WHERE cluster = 0 AND segment IN (SELECT value FROM "
        "json_each(?1))"
        " AND day BETWEEN ?2 AND ?3");
    rows.Bind(scope.segments, scope.first_day, scope.last_day);
    return rows.Step() ? rows.Int(0) : 0;
  }

  void AddSegments(const std::vector<SegmentSum>& sums, CauseRow* cause) {
    const bool has_segments = scope_.segments != "[0]";
    std::set<std::string> apps, versions;
    std::map<std::string, double> verdicts;
    for (const SegmentSum& sum : sums) {
      if (has_segments && !segments_.contains(sum.segment)) continue;
      const SegmentNames& names = NamesOf(sum.segment);
      apps.insert(names.app);
      versions.insert(names.version);
      verdicts[names.verdict] += sum.hang_ns;
    }
    cause->apps.assign(apps.begin(), apps.end());
    cause->versions.assign(versions.begin(), versions.end());
    cause->verdicts.assign(verdicts.begin(), verdicts.end());
    std::ranges::stable_sort(cause->verdicts, std::greater(), &std::pair<std::string, double>::second);
  }

  const SegmentNames& NamesOf(int64_t segment) {
    const auto [known, is_new] = names_.try_emplace(segment);
    if (is_new) {
      Statement row = database_->Use("SELECT app, version, verdict FROM segments WHERE id = ?");
      row.Bind(segment);
      if (row.Step()) known->second = {row.Text(0), row.Text(1), row.Text(2)};
    }
    return known->second;
  }

  Database* database_;
  Scope scope_;
  std::unordered_set<int64_t> segments_;                  // the scope's
  std::unordered_map<int64_t, SegmentNames> names_ = {};  // of segments that were asked for
};

// Nothing when the sums that are kept do not tell.
std::optional<Scope> ScopeOf(Database* database, const ReportFilter& filter) {
  if (!filter.user.empty() || !filter.cluster_key.empty()) return std::nullopt;
  const auto segments = SegmentsOf(database, filter);
  const bool has_days = filter.first_day || filter.last_day;
  if (segments && has_days) return std::nullopt;
  if (segments) return Scope{.segments = *segments};
  if (has_days) {
    return Scope{.first_day = std::max<int64_t>(filter.first_day.value_or(1), 1),
                 .last_day = filter.last_day.value_or(INT64_MAX)};
  }
  return Scope{};
}

std::optional<int64_t> IdOf(Database* database, const std::string& key) {
  Statement found = database->Use("SELECT id FROM clusters WHERE key = ?");
  found.Bind(key);
  return found.Step() ? std::optional(found.Int(0)) : std::nullopt;
}

std::optional<CauseRow> SumOfReports(Database* database, const std::string& key, ReportFilter filter) {
  filter.cluster_key = key;
  ReportSummer summer;
  ReadEachReport(database, filter, [&](const ReportRow& report) { summer.Add(report); });
  const int level = ReadCluster(database, key).value_or(Cluster{}).level;
  CausePage page{.causes = {summer.ToCause(key, level, kAllChildren)}, .all = {}};
  if (page.causes.front().sums.reports == 0) return std::nullopt;
  ForEachCause(&page, [&](CauseRow* cause) {
    cause->cluster = ReadCluster(database, cause->cluster.key).value_or(Cluster{});
  });
  return std::move(page.causes.front());
}

}  // namespace

CausePage ReadCauses(Database* database, const CauseQuery& query) {
  auto scope = ScopeOf(database, query.filter);
  if (!scope) {
    ReportSummer summer;
    ReadEachReport(database, query.filter, [&](const ReportRow& report) { summer.Add(report); });
    CausePage page = summer.ToPage(query);
    ForEachCause(&page, [&](CauseRow* cause) {
      cause->cluster = ReadCluster(database, cause->cluster.key).value_or(Cluster{});
    });
    return page;
  }
  SumsReader sums(database, std::move(*scope));
  CausePage page{.causes = {}, .all = sums.Read(0)};
  for (int64_t cluster : sums.Costliest(query.level, query.limit, query.offset)) {
    CauseRow cause = sums.Describe(cluster);
    if (query.level == 1) cause.children = sums.Children(cluster, query.child_limit);
    page.causes.push_back(std::move(cause));
  }
  SortByCost(&page.causes);
  return page;
}

std::optional<CauseRow> ReadCause(Database* database, const std::string& key, const ReportFilter& filter) {
  const auto cluster = IdOf(database, key);
  if (!cluster) return std::nullopt;
  auto scope = ScopeOf(database, filter);
  if (!scope) return SumOfReports(database, key, filter);
  SumsReader sums(database, std::move(*scope));
  CauseRow cause = sums.Describe(*cluster);
  if (cause.sums.reports == 0) return std::nullopt;
  cause.children = sums.Children(*cluster, kAllChildren);
  return cause;
}

std::vector<CausePeriod> ReadCauseDays(Database* database, const std::string& key) {
  std::vector<CausePeriod> days;
  const auto cluster = IdOf(database, key);
  if (!cluster) return days;
  Statement rows =
      database->Use("SELECT day, " LAGWATCH_SUMS
                    " FROM cluster_sums WHERE cluster = ? AND segment = 0 AND day > 0 AND reports > 0"
                    " ORDER BY day");
  rows.Bind(*cluster);
  while (rows.Step()) days.push_back({rows.Int(0) * kMsPerDay, ReadSums(rows, 1)});
  return days;
}

std::optional<Cluster> ReadCluster(Database* database, const std::string& key) {
  Statement found =
      database->Use("SELECT " LAGWATCH_CLUSTER " FROM " LAGWATCH_CLUSTERS " WHERE clusters.key = ?");
  found.Bind(key);
  if (!found.Step()) return std::nullopt;
  return ReadClusterAt(found);
}

}  // namespace lagwatch::collector
