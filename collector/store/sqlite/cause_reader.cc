// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <set>
#include <unordered_set>
#include <utility>

#include "collector/store/cluster_search.h"
#include "collector/store/report_summer.h"
#include "collector/store/sqlite/report_reader.h"
#include "collector/store/sqlite/sums_reader.h"

namespace lagwatch::collector {
namespace {

std::optional<int64_t> IdOf(Database* database, const std::string& key) {
  Statement found = database->Use("SELECT id FROM clusters WHERE key = ?");
  found.Bind(key);
  return found.Step() ? std::optional(found.Int(0)) : std::nullopt;
}

// By going over all names: tens of thousands, and none of their sums. Calls `visit` with ids and keys.
template <typename Visit>
void FindClusters(Database* database, const CauseQuery& query, Visit visit) {
  const ClusterSearch search(query.text);
  Statement rows = database->Use(
      R"sql(
        SELECT id, key, frames, via, held_by
        FROM clusters
        WHERE level = ?1
          AND (instr(lower(frames), ?2) OR instr(lower(via), ?3) OR instr(lower(held_by), ?2))
      )sql");
  rows.Bind(int64_t{query.level}, search.in_json(), search.text());
  while (rows.Step()) {
    if (search.IsIn(rows.Text(2), rows.Text(3), rows.Text(4))) visit(rows.Int(0), rows.Text(1));
  }
  for (const std::string& key : query.titled_keys) {
    Statement titled = database->Use("SELECT id FROM clusters WHERE key = ? AND level = ?");
    titled.Bind(key, int64_t{query.level});
    if (titled.Step()) visit(titled.Int(0), key);
  }
}

// Adds the facts that the sums of a cause's reports do not have.
void Describe(Database* database, CauseRow* cause) {
  cause->cluster = ReadCluster(database, cause->cluster.key).value_or(Cluster{});
  cause->is_capped_known = true;
}

CausePage SumOfReports(Database* database, const CauseQuery& query) {
  std::set<std::string> found;
  if (!query.text.empty()) FindClusters(database, query, [&](int64_t, auto key) { found.insert(key); });
  ReportSummer summer;
  ReadEachReport(database, query.filter, [&](const ReportRow& report) { summer.Add(report); });
  CausePage page = summer.ToPage(query, query.text.empty() ? nullptr : &found);
  ForEachCause(&page, [&](CauseRow* cause) { Describe(database, cause); });
  return page;
}

std::optional<CauseRow> SumOfReports(Database* database, const std::string& key, ReportFilter filter) {
  filter.cluster_key = key;
  ReportSummer summer;
  ReadEachReport(database, filter, [&](const ReportRow& report) { summer.Add(report); });
  const int level = ReadCluster(database, key).value_or(Cluster{}).level;
  CausePage page{.causes = {summer.ToCause(key, level, kAllChildren)}, .all = {}};
  if (page.causes.front().sums.reports == 0) return std::nullopt;
  ForEachCause(&page, [&](CauseRow* cause) { Describe(database, cause); });
  return std::move(page.causes.front());
}

}  // namespace

CausePage ReadCauses(Database* database, const CauseQuery& query) {
  auto scope = SumsScope::Of(database, query.filter);
  if (!scope) return SumOfReports(database, query);
  std::unordered_set<int64_t> found;
  if (!query.text.empty()) FindClusters(database, query, [&](int64_t id, const auto&) { found.insert(id); });
  const auto* wanted = query.text.empty() ? nullptr : &found;
  SumsReader sums(database, std::move(*scope));
  CausePage page{.causes = {}, .all = sums.Read(0)};
  for (int64_t cluster : sums.Costliest(query.level, query.limit, query.offset, wanted)) {
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
  auto scope = SumsScope::Of(database, filter);
  if (!scope) return SumOfReports(database, key, filter);
  SumsReader sums(database, std::move(*scope));
  CauseRow cause = sums.Describe(*cluster);
  if (cause.sums.reports == 0) return std::nullopt;
  cause.children = sums.Children(*cluster, kAllChildren);
  return cause;
}

// As ReadCause does.
std::vector<CauseVersion> ReadCauseVersions(Database* database, const std::string& key,
                                            const ReportFilter& filter) {
  VersionSums versions;
  const auto cluster = IdOf(database, key);
  if (!cluster) return {};
  const auto scope = SumsScope::Of(database, filter);
  if (!scope || scope->is_of_days()) {
    ReportFilter of_cluster = filter;
    of_cluster.cluster_key = key;
    ReadEachReport(database, of_cluster, [&](const ReportRow& report) { versions.Add(report); });
  } else {
    Statement rows = database->Use("SELECT app, version, " LAGWATCH_SUMS
                                   R"sql(
                                     FROM cluster_sums NOT INDEXED
                                     JOIN segments ON segments.id = segment
                                     WHERE cluster = ?1 AND segment > 0 AND day = 0 AND reports > 0
                                       AND (?2 OR segment IN (
                                       SELECT value FROM json_each(?3)
                                     ))
                                   )sql");
    rows.Bind(*cluster, int64_t{scope->is_all()}, scope->segments);
    while (rows.Step()) versions.Add(rows.Text(0), rows.Text(1), ReadSums(rows, 2));
  }
  return std::move(versions).Take(scope ? SumsReader(database, *scope).LostPerReport(*cluster) : 0);
}

std::vector<CausePeriod> ReadCauseDays(Database* database, const std::string& key) {
  const auto cluster = IdOf(database, key);
  if (!cluster) return {};
  Statement rows = database->Use("SELECT day, " LAGWATCH_SUMS
                                 R"sql(
                                   FROM cluster_sums
                                   WHERE cluster = ? AND segment = 0 AND day > 0 AND reports > 0
                                   ORDER BY day
                                 )sql");
  rows.Bind(*cluster);
  return rows.All([](const Statement& row) { return CausePeriod{row.Int(0) * kMsPerDay, ReadSums(row, 1)}; });
}

DaysOfCauses ReadCostByDay(Database* database, std::span<const std::string> keys, int64_t first_day,
                           int64_t last_day) {
  DaysOfCauses days;
  for (const std::string& key : keys) {
    const auto cluster = IdOf(database, key);
    if (!cluster) continue;
    Statement rows = database->Use(
        R"sql(
          SELECT day, weighted_hang_ns
          FROM cluster_sums NOT INDEXED
          WHERE cluster = ? AND segment = 0 AND day BETWEEN ? AND ? AND reports > 0
          ORDER BY day
        )sql");
    // Day 0 is the sum of all.
    rows.Bind(*cluster, std::max<int64_t>(first_day, 1), last_day);
    while (rows.Step()) days[key].push_back({rows.Int(0), rows.Real(1)});
  }
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
