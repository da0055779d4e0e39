// SPDX-License-Identifier: Apache-2.0
#include "collector/store/sqlite/sums_reader.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "collector/store/report_summer.h"
#include "collector/store/sqlite/report_reader.h"

namespace lagwatch::collector {
namespace {

constexpr int64_t kMostByWalk = 2000;

}  // namespace

Cluster ReadClusterAt(const Statement& row) {
  return {.key = row.Text(0),
          .level = static_cast<int>(row.Int(1)),
          .parent_key = row.Text(2),
          .frames = NamesFromJson(row.Text(3)),
          .via = row.Text(4),
          .held_by = NamesFromJson(row.Text(5))};
}

std::optional<SumsScope> SumsScope::Of(Database* database, const ReportFilter& filter) {
  if (HasTextsOfReports(filter) || !filter.cluster_key.empty()) return std::nullopt;
  const auto segments = SegmentsOf(database, filter);
  const bool has_days = filter.first_day || filter.last_day;
  if (segments && has_days) return std::nullopt;
  if (segments) return SumsScope{.segments = *segments};
  if (has_days) {
    return SumsScope{.first_day = std::max<int64_t>(filter.first_day.value_or(1), 1),
                     .last_day = filter.last_day.value_or(INT64_MAX)};
  }
  return SumsScope{};
}

SumsReader::SumsReader(Database* database, SumsScope scope) : database_(database), scope_(std::move(scope)) {
  const auto segments = nlohmann::json::parse(scope_.segments);
  segments_.insert(segments.begin(), segments.end());
  Statement capped =
      database_->Use("SELECT 1 FROM capped_sums WHERE cluster = 0 AND segment = 0 AND day = 0");
  has_capped_ = capped.Step();
}

std::vector<int64_t> SumsReader::Page::Of(Statement* rows) const {
  std::vector<int64_t> clusters;
  for (int64_t seen = 0; static_cast<int64_t>(clusters.size()) < limit && rows->Step();) {
    if (Wants(rows->Int(0)) && ++seen > offset) clusters.push_back(rows->Int(0));
  }
  return clusters;
}

std::vector<int64_t> SumsReader::Page::Of(const std::set<std::pair<double, int64_t>>& by_cost) const {
  std::vector<int64_t> clusters;
  int64_t seen = 0;
  for (const auto& [cost, cluster] : by_cost) {
    if (++seen > offset && static_cast<int64_t>(clusters.size()) < limit) clusters.push_back(cluster);
  }
  return clusters;
}

std::vector<int64_t> SumsReader::Costliest(int level, int64_t limit, int64_t offset,
                                           const std::unordered_set<int64_t>* wanted) {
  const Page page{limit, offset, wanted};
  if (scope_.is_all()) return CostliestInAll(level, page);
  if (wanted != nullptr && static_cast<int64_t>(wanted->size()) <= kMostByWalk) return CostliestOfFew(page);
  // A large part of all is found soon among the costliest of all; a small one is summed up soon.
  const bool is_much = ReportsIn(scope_) * 10 >= ReportsIn({});
  return is_much && offset + limit <= kMostByWalk ? CostliestByWalk(level, page)
                                                  : CostliestBySum(level, page);
}

CauseRow SumsReader::Describe(int64_t cluster) {
  const std::vector<SegmentSum> segments = SegmentsOfCluster(cluster);
  CauseRow cause = ReadIn(IsWhole(cluster, segments) ? SumsScope() : scope_, cluster);
  Statement named =
      database_->Use("SELECT " LAGWATCH_CLUSTER " FROM " LAGWATCH_CLUSTERS " WHERE clusters.id = ?");
  named.Bind(cluster);
  if (named.Step()) cause.cluster = ReadClusterAt(named);
  AddSegments(segments, &cause);
  return cause;
}

std::vector<CauseRow> SumsReader::Children(int64_t parent, int64_t limit) {
  std::vector<CauseRow> children;
  Statement rows = database_->Use(
      R"sql(
        SELECT cluster
        FROM cluster_sums
        WHERE parent = ?1 AND parent != 0 AND segment = 0 AND day = 0
        ORDER BY estimated_hang_ns DESC
        LIMIT ?2
      )sql");
  rows.Bind(parent, scope_.is_all() ? limit : kAllChildren);
  while (rows.Step()) {
    CauseRow child = Describe(rows.Int(0));
    if (child.sums.reports > 0) children.push_back(std::move(child));
  }
  SortByCost(&children);
  if (static_cast<int64_t>(children.size()) > limit) children.resize(static_cast<size_t>(limit));
  return children;
}

CauseRow SumsReader::ReadIn(const SumsScope& scope, int64_t cluster) {
  CauseRow cause;
  Statement rows = database_->Use("SELECT " LAGWATCH_SUMS
                                  R"sql(
                                    FROM cluster_sums
                                    WHERE cluster = ?1 AND segment IN (
                                      SELECT value FROM json_each(?2)
                                    ) AND day BETWEEN ?3 AND ?4
                                  )sql");
  rows.Bind(cluster, scope.segments, scope.first_day, scope.last_day);
  while (rows.Step()) cause.sums.Add(ReadSums(rows, 0));
  if (has_capped_) AddCapped(scope, cluster, &cause.sums);
  cause.is_capped_known = true;
  Estimate(LostPerReport(cluster), &cause);
  return cause;
}

void SumsReader::AddCapped(const SumsScope& scope, int64_t cluster, CauseSums* sums) {
  Statement rows = database_->Use(
      R"sql(
        SELECT reports, hang_ns
        FROM capped_sums
        WHERE cluster = ?1 AND segment IN (SELECT value FROM json_each(?2)) AND day BETWEEN ?3 AND ?4
      )sql");
  rows.Bind(cluster, scope.segments, scope.first_day, scope.last_day);
  while (rows.Step()) {
    sums->capped_reports += rows.Int(0);
    sums->capped_ns += rows.Real(1);
  }
}

std::vector<int64_t> SumsReader::CostliestInAll(int level, const Page& page) {
  Statement rows = database_->Use(
      R"sql(
        SELECT cluster
        FROM cluster_sums
        WHERE level = ?1 AND segment = 0 AND day = 0 AND estimated_hang_ns >= 0
        ORDER BY estimated_hang_ns DESC, cluster
      )sql");
  rows.Bind(int64_t{level});
  return page.Of(&rows);
}

// A cluster costs no more in a part of all than it costs in all: from the costliest in all down, until no
// other can come in. After Fagin, Lotem, Naor: Optimal aggregation algorithms for middleware, PODS 2001.
std::vector<int64_t> SumsReader::CostliestByWalk(int level, const Page& page) {
  const auto most = static_cast<size_t>(page.offset + page.limit);
  std::set<std::pair<double, int64_t>> found;  // minus the cost, and the cluster
  Statement rows = database_->Use(
      R"sql(
        SELECT cluster, estimated_hang_ns
        FROM cluster_sums
        WHERE level = ? AND segment = 0 AND day = 0
        ORDER BY estimated_hang_ns DESC
      )sql");
  rows.Bind(int64_t{level});
  while (most > 0 && rows.Step()) {
    if (found.size() == most && rows.Real(1) < -found.rbegin()->first) break;
    if (!page.Wants(rows.Int(0))) continue;
    if (const auto cost = CostOf(rows.Int(0))) found.emplace(-*cost, rows.Int(0));
    if (found.size() > most) found.erase(std::prev(found.end()));
  }
  return page.Of(found);
}

std::vector<int64_t> SumsReader::CostliestBySum(int level, const Page& page) {
  Statement rows = database_->Use(
      R"sql(
        SELECT cluster
        FROM cluster_sums
        WHERE level = ?1 AND segment IN (SELECT value FROM json_each(?2)) AND day BETWEEN ?3 AND ?4
        GROUP BY cluster
        ORDER BY total(estimated_hang_ns) DESC, cluster
        LIMIT ?5
      )sql");
  rows.Bind(int64_t{level}, scope_.segments, scope_.first_day, scope_.last_day,
            page.wanted == nullptr ? page.offset + page.limit : INT64_MAX);
  return page.Of(&rows);
}

std::vector<int64_t> SumsReader::CostliestOfFew(const Page& page) {
  std::set<std::pair<double, int64_t>> costs;  // minus the cost, and the cluster
  for (int64_t cluster : *page.wanted) {
    if (const auto cost = CostOf(cluster)) costs.emplace(-*cost, cluster);
  }
  return page.Of(costs);
}

// In the scope; nothing when there are no reports of it.
std::optional<double> SumsReader::CostOf(int64_t cluster) {
  std::optional<double> cost;
  if (!scope_.is_of_days()) {
    for (const SegmentSum& sum : SegmentsOfCluster(cluster))
      if (segments_.contains(sum.segment)) cost = cost.value_or(0) + sum.estimated_hang_ns;
    return cost;
  }
  Statement rows = database_->Use(
      R"sql(
        SELECT estimated_hang_ns
        FROM cluster_sums
        WHERE cluster = ?1 AND segment = 0 AND day BETWEEN ?2 AND ?3 AND reports > 0
      )sql");
  rows.Bind(cluster, scope_.first_day, scope_.last_day);
  while (rows.Step()) cost = cost.value_or(0) + rows.Real(0);
  return cost;
}

// By an index that has all of it: the sketches between these rows are many times as large.
std::vector<SumsReader::SegmentSum> SumsReader::SegmentsOfCluster(int64_t cluster) {
  Statement rows = database_->Use(
      R"sql(
        SELECT segment, hang_ns, estimated_hang_ns
        FROM cluster_sums INDEXED BY cluster_sums_of_segments
        WHERE cluster = ? AND segment > 0 AND reports > 0
      )sql");
  rows.Bind(cluster);
  return rows.All([](const Statement& row) { return SegmentSum{row.Int(0), row.Real(1), row.Real(2)}; });
}

// Whether the scope leaves out none of its reports: most clusters are of one program.
bool SumsReader::IsWhole(int64_t cluster, const std::vector<SegmentSum>& segments) {
  if (scope_.is_all()) return true;
  if (!scope_.is_of_days())
    return std::ranges::all_of(segments, [&](const auto& sum) { return segments_.contains(sum.segment); });
  Statement outside = database_->Use(
      R"sql(
        SELECT 1
        FROM cluster_sums
        WHERE cluster = ?1 AND segment = 0 AND (day BETWEEN 1 AND ?2 - 1 OR day > ?3) AND reports > 0
        LIMIT 1
      )sql");
  outside.Bind(cluster, scope_.first_day, scope_.last_day);
  return !outside.Step();
}

int64_t SumsReader::ReportsIn(const SumsScope& scope) {
  Statement rows = database_->Use(
      R"sql(
        SELECT sum(reports)
        FROM cluster_sums
        WHERE cluster = 0 AND segment IN (SELECT value FROM json_each(?1)) AND day BETWEEN ?2 AND ?3
      )sql");
  rows.Bind(scope.segments, scope.first_day, scope.last_day);
  return rows.Step() ? rows.Int(0) : 0;
}

void SumsReader::AddSegments(const std::vector<SegmentSum>& sums, CauseRow* cause) {
  const bool has_segments = scope_.segments != "[0]";
  CauseTotals totals;
  for (const SegmentSum& sum : sums) {
    if (has_segments && !segments_.contains(sum.segment)) continue;
    const SegmentNames& names = NamesOf(sum.segment);
    totals.AddNames(names.app, names.version, names.verdict, sum.hang_ns);
  }
  totals.WriteNamesTo(cause);
}

const SumsReader::SegmentNames& SumsReader::NamesOf(int64_t segment) {
  const auto [known, is_new] = names_.try_emplace(segment);
  if (is_new) {
    Statement row = database_->Use("SELECT app, version, verdict FROM segments WHERE id = ?");
    row.Bind(segment);
    if (row.Step()) known->second = {row.Text(0), row.Text(1), row.Text(2)};
  }
  return known->second;
}

double SumsReader::LostPerReport(int64_t cluster) {
  Statement all = database_->Use(
      R"sql(
        SELECT lost_reports / max(reports, 1)
        FROM cluster_sums
        WHERE cluster = ? AND segment = 0 AND day = 0
      )sql");
  all.Bind(cluster);
  return all.Step() ? all.Real(0) : 0;
}

}  // namespace lagwatch::collector
