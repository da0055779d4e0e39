// SPDX-License-Identifier: Apache-2.0
#include "collector/store/clickhouse/row_remover.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <chrono>
#include <thread>

#include "base/text.h"
#include "collector/store/clickhouse/read/hang_reader.h"
#include "collector/store/clickhouse/server/conditions.h"
#include "collector/store/clickhouse/server/shard_nodes.h"
#include "policies/exit_reason.h"

namespace lagwatch::collector {
namespace {

using By = Removal::By;

constexpr std::chrono::milliseconds kLongestMutation{3000};
constexpr std::chrono::milliseconds kMutationPause{100};
// Of each kind in a round: mutations that wait together rewrite a part once.
constexpr size_t kMostIds = 100'000;
// Of a mutation: its text stays below max_query_size, 256 KiB, and far below what ZooKeeper takes.
constexpr size_t kMostIdsOfAMutation = 5'000;

constexpr std::array kTablesOfRemovals = {kReports, kPlacements, kEnds,    kRunEnds, kFrames,        kUsage,
                                          kLosses,  kUnknown,    kUnnamed, kTraces,  kRecordSenders, kMarks};

std::string Conditioned(const Removal& removal) {
  switch (removal.by) {
    case By::kUser:
      return "user = " + SqlText(removal.subject) + " AND user != ''";
    case By::kApp:
      return "app = " + SqlText(removal.subject);
    default:
      break;
  }
  std::string names;
  for (const std::string& app : removal.excluded_apps) names += (names.empty() ? "" : ", ") + SqlText(app);
  return names.empty() ? "1" : "app NOT IN (" + names + ")";
}

std::string Before(const Removal& removal) {
  return removal.before_day ? " AND day < " + DateOf(*removal.before_day) : "";
}

void Sort(std::vector<base::Uuid>* ids) {
  std::ranges::sort(*ids, {}, &base::Uuid::bytes);
  const auto [first, last] = std::ranges::unique(*ids, {}, &base::Uuid::bytes);
  ids->erase(first, last);
}

// As ClickHouse's hex() writes it.
std::string Hex(const base::Uuid& id) {
  std::string hex = base::ToHex(id.as_bytes());
  std::ranges::transform(hex, hex.begin(), [](char digit) { return std::toupper(digit); });
  return hex;
}

}  // namespace

// Rows of a table, by their days and ids, in order.
struct RowRemover::Rows {
  const Table* table;
  std::string id;
  std::string where;  // besides; begins with AND, or is empty
  std::vector<std::pair<int64_t, base::Uuid>> rows = {};
};

struct RowRemover::Plan {
  std::vector<Rows> tables;                        // in the order of the mutations
  std::set<int64_t> units;                         // units that need new sums
  std::vector<std::pair<char, Ids>> senders = {};  // of records, by the letters of their kinds
  RemovalProgress removed;
};

bool RowRemover::Step(const Removal& removal, const OnFound& on_found, RemovalProgress* progress) {
  static const RecordKind kUnknownKind{'t', &kUnknown, kUnknownRecordIdSql};
  AwaitMutations();
  // Rows that a replica lacks are not found there, and would stay.
  const std::vector<size_t> nodes = ShardNodes(connection_, schema_).FindComplete(kTablesOfRemovals, true);
  const RowSource rows(connection_, schema_, nodes);
  marks_.End(rows);

  const Ids reports = FindIds(removal, kReportKind, rows);
  on_found(reports);
  Plan plan;
  Ids traces;
  if (removal.by != By::kReport && removal.by != By::kCluster) {
    traces = FindIds(removal, kTraceKind, rows);
    for (const RecordKind& kind : {kUsageKind, kLossesKind, kFramesKind})
      PlanOthers(kind, FindIds(removal, kind, rows), rows, &plan);
    PlanRunEnds(FindIds(removal, kRunEndKind, rows), rows, &plan);
    if (removal.by == By::kKey) PlanOthers(kUnknownKind, FindIds(removal, kUnknownKind, rows), rows, &plan);
  }
  if (!reports.empty()) {
    const ExternalTable external = ExternalTable::OfIds(reports);
    rows.Select(
        "id", kTraces, " WHERE report_id IN (SELECT id FROM ids) AND " + DaysAround(reports), "u",
        [&](const Row& row) { traces.push_back(row.Id(0)); }, &external);
  }
  Sort(&traces);
  plan.removed.traces = Add(kTraces, "id", "", traces, rows, &plan);
  PlanReports(reports, rows, &plan);
  plan.senders.emplace_back(kTraceKind.letter, traces);
  plan.senders.emplace_back(kReportKind.letter, reports);
  PlanSenders(rows, &plan);
  if (plan.tables.empty()) return false;

  marks_.Begin(plan.units);
  Execute(plan, nodes);
  progress->reports += plan.removed.reports;
  progress->traces += plan.removed.traces;
  progress->others += plan.removed.others;
  return true;
}

void RowRemover::AwaitMutations() {
  ShardNodes nodes(connection_, schema_);
  const auto end = std::chrono::steady_clock::now() + kLongestMutation;
  for (int64_t count = nodes.CountMutations(); count > 0; count = nodes.CountMutations()) {
    if (std::chrono::steady_clock::now() >= end)
      throw ClickHouseError("ClickHouse has not ended " + std::to_string(count) +
                            " mutations yet (system.mutations); the deletion goes on after them");
    std::this_thread::sleep_for(kMutationPause);
  }
}

// Those of reports in a cluster are more than a condition: they may have been moved.
RowRemover::Ids RowRemover::FindIds(const Removal& removal, const RecordKind& kind, const RowSource& rows) {
  if (removal.by == By::kReport) return {base::TryParseUuid(removal.subject).value_or(base::Uuid{})};
  if (removal.by == By::kCluster) return FindInCluster(removal, rows);
  Ids ids;
  const auto add = [&](const Row& row) { ids.push_back(row.Id(0)); };
  const std::string limit = " LIMIT " + std::to_string(kMostIds);
  if (removal.by == By::kKey) {
    const std::string of_kind = " WHERE kind = '" + std::string(1, kind.letter) + "'" + Before(removal);
    const std::string sender = SqlText(removal.subject);
    rows.Select("id", kRecordSenders,
                of_kind + " AND id IN (SELECT id FROM " + schema_->OfShard(kRecordSenders) + of_kind +
                    " AND sender = " + sender + ") GROUP BY id HAVING argMax(sender, ver) = " + sender +
                    " ORDER BY id" + limit,
                "u", add);
  } else {
    const std::string id = kind.id;
    rows.Select(
        id, *kind.table,
        " WHERE " + Conditioned(removal) + Before(removal) + " GROUP BY " + id + " ORDER BY " + id + limit,
        "u", add);
  }
  Sort(&ids);
  return ids;
}

RowRemover::Ids RowRemover::FindInCluster(const Removal& removal, const RowSource& rows) {
  Ids ids;
  ReportFilter filter{.cluster_key = removal.subject};
  if (removal.before_day) filter.last_day = *removal.before_day - 1;
  // A hang goes as a whole: what stayed of it would be of another cause.
  base::Uuid last_hang;
  HangReader(rows, schema_).ForEach(filter, [&](const ReportRow& report) {
    if (ids.size() >= kMostIds && report.hang_id != last_hang) return;
    last_hang = report.hang_id;
    ids.push_back(report.id);
  });
  Sort(&ids);
  return ids;
}

// Parts of reports are removed first: without the reports they could not be found. Placements are removed
// last: without them, reports would be in other clusters.
void RowRemover::PlanReports(const Ids& ids, const RowSource& rows, Plan* plan) {
  if (ids.empty()) return;
  const std::string days = " AND " + DaysOf(ids);
  Add(kUnnamed, "id", days, ids, rows, plan);
  Add(kEnds, "report_id", " AND of_run != 1" + days, ids, rows, plan);
  MarkHomes(ids, rows, plan);
  plan->removed.reports = Add(kReports, "id", days, ids, rows, plan);
  Add(kPlacements, "id", days, ids, rows, plan);
}

// Last of all: what a key brought is found by them. Those of records that are not there, too.
void RowRemover::PlanSenders(const RowSource& rows, Plan* plan) {
  for (const auto& [kind, ids] : plan->senders)
    Add(kRecordSenders, "id", " AND kind = '" + std::string(1, kind) + "'", ids, rows, plan);
}

void RowRemover::PlanOthers(const RecordKind& kind, const Ids& ids, const RowSource& rows, Plan* plan) {
  plan->senders.emplace_back(kind.letter, ids);
  const int64_t found = Add(*kind.table, kind.id, "", ids, rows, plan);
  plan->removed.others += found;
  if (found == 0 || kind.table != &kUsage) return;
  for (const auto& [day, id] : plan->tables.back().rows) plan->units.insert(SumsUnit::OfUsage(day).number());
}

void RowRemover::PlanRunEnds(const Ids& ids, const RowSource& rows, Plan* plan) {
  if (ids.empty()) return;
  plan->senders.emplace_back('s', ids);
  Ids killed;
  const ExternalTable external = ExternalTable::OfIds(ids);
  rows.Select(
      "report_id", kRunEnds,
      " WHERE session_id IN (SELECT id FROM ids) AND reason IN ('killed-in-hang', 'killed-in-lag')", "u",
      [&](const Row& row) {
        if (row.Id(0) != base::Uuid{}) killed.push_back(row.Id(0));
      },
      &external);
  Sort(&killed);
  if (!killed.empty()) {
    MarkHomes(killed, rows, plan);
    Add(kEnds, "report_id", " AND of_run = 1 AND " + DaysOf(killed), killed, rows, plan);
  }
  plan->removed.others += Add(kRunEnds, "session_id", "", ids, rows, plan);
}

// Of those rows that are there; returns how many ids have some.
int64_t RowRemover::Add(const Table& table, const std::string& id, const std::string& where, const Ids& ids,
                        const RowSource& rows, Plan* plan) {
  if (ids.empty()) return 0;
  Rows found{.table = &table, .id = id, .where = where};
  std::set<std::array<uint8_t, 16>> unique;
  const ExternalTable external = ExternalTable::OfIds(ids);
  rows.Select(
      "DISTINCT toInt64(day), " + id, table, " WHERE " + id + " IN (SELECT id FROM ids)" + where, "iu",
      [&](const Row& row) {
        found.rows.emplace_back(row.Int(0), row.Id(1));
        unique.insert(row.Id(1).bytes);
      },
      &external);
  if (found.rows.empty()) return 0;
  std::ranges::sort(found.rows, {}, [](const auto& row) { return std::pair(row.first, row.second.bytes); });
  plan->tables.push_back(std::move(found));
  return static_cast<int64_t>(unique.size());
}

void RowRemover::MarkHomes(const Ids& report_ids, const RowSource& rows, Plan* plan) {
  const ExternalTable external = ExternalTable::OfIds(report_ids);
  rows.Select(
      "id, lag_id", kReports, " WHERE id IN (SELECT id FROM ids) AND " + DaysOf(report_ids), "uu",
      [&](const Row& row) {
        plan->units.insert(SumsUnit::OfHour(HomeHourOf(row.Id(0), row.Id(1))).number());
      },
      &external);
}

// Ids are listed: what a mutation selects by itself may have changed when a replica comes to it.
void RowRemover::Execute(const Plan& plan, std::span<const size_t> nodes) {
  for (const auto& [table, id, where, rows] : plan.tables) {
    for (size_t begin = 0; begin < rows.size(); begin += kMostIdsOfAMutation) {
      const size_t end = std::min(begin + kMostIdsOfAMutation, rows.size());
      std::string ids;
      for (size_t i = begin; i < end; ++i) ids += (i == begin ? "'" : ", '") + Hex(rows[i].second) + "'";
      const std::string sql =
          "ALTER TABLE " + schema_->OfShard(*table) + " DELETE WHERE day >= " + DateOf(rows[begin].first) +
          " AND day <= " + DateOf(rows[end - 1].first) + where + " AND hex(" + id + ") IN (" + ids + ")";
      for (size_t node : nodes) connection_->ExecuteAt(node, sql);
    }
  }
}

}  // namespace lagwatch::collector
