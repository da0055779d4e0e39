// SPDX-License-Identifier: Apache-2.0
#include "collector/store/sqlite/report_reader.h"

#include <algorithm>

#define LAGWATCH_REPORT_COLUMNS                                                                         \
  "reports.id, lag_id, session_id, ordinal, app, version, user, kind, verdict, loop, tag, os, machine," \
  " pid, tid, threshold_ms, start_wall_ms, elapsed_ns, cpu_window_ns, cpu_thread_ns, cpu_process_ns,"   \
  " one.key, two.key, duration_ns, hang_ns, is_lead, sample_rate_ppm, cause"
#define LAGWATCH_JOINS                                                                                   \
  " JOIN segments ON segments.id = segment JOIN clusters AS one ON one.id = level1 JOIN clusters AS two" \
  " ON two.id = level2"

namespace lagwatch::collector {
namespace {

constexpr int kPayloadColumn = 28;

ReportRow ReadRow(const Statement& row) {
  return {.id = ReadUuid(row, 0),
          .hang_id = ReadUuid(row, 1),
          .session_id = ReadUuid(row, 2),
          .ordinal = row.Int(3),
          .app = row.Text(4),
          .version = row.Text(5),
          .user = row.Text(6),
          .kind = row.Text(7),
          .verdict = row.Text(8),
          .loop = row.Text(9),
          .tag = row.Text(10),
          .os = row.Text(11),
          .machine = row.Text(12),
          .pid = row.Int(13),
          .tid = row.Int(14),
          .threshold_ms = row.Int(15),
          .start_wall_ms = row.Int(16),
          .elapsed_ns = row.Int(17),
          .cpu_window_ns = row.Int(18),
          .cpu_thread_ns = row.Int(19),
          .cpu_process_ns = row.Int(20),
          .level1_key = row.Text(21),
          .level2_key = row.Text(22),
          .duration_ns = row.OptionalInt(23),
          .hang_ns = row.Int(24),
          .is_lead = row.Int(25) != 0,
          .sample_rate_ppm = row.Int(26),
          .cause = row.Int(27)};
}

// The access path with the fewest reports to skip. All have the ids in order.
enum class Way { kById, kByUser, kByLevel1, kByLevel2, kBySegments };

struct Plan {
  Way way = Way::kById;
  std::string segments = "[]";  // those that match; all when it has none
  bool has_segments = false;
  int64_t cluster = 0;
  base::Uuid first{};
  base::Uuid last{};
};

// Nothing when no report can match.
std::optional<Plan> PlanFor(Database* database, const ReportFilter& filter,
                            const std::optional<base::Uuid>& before) {
  Plan plan;
  plan.last.bytes.fill(0xff);
  if (filter.first_day) plan.first = FirstIdOf(*filter.first_day);
  if (filter.last_day) plan.last = FirstIdOf(*filter.last_day + 1);
  if (before && before->bytes < plan.last.bytes) plan.last = *before;
  if (auto segments = SegmentsOf(database, filter)) {
    plan.segments = std::move(*segments);
    plan.has_segments = true;
    plan.way = Way::kBySegments;
  }
  if (!filter.user.empty()) plan.way = Way::kByUser;
  if (!filter.cluster_key.empty()) {
    auto cluster = database->Use("SELECT id, level FROM clusters WHERE key = ?");
    cluster.Bind(filter.cluster_key);
    if (!cluster.Step()) return std::nullopt;
    plan.cluster = cluster.Int(0);
    plan.way = cluster.Int(1) == 1 ? Way::kByLevel1 : Way::kByLevel2;
  }
  return plan;
}

// Parameters: 1 segments, 2 whether they count, 3 user, 4 cluster, 5 and 6 first id and that after the last,
// 7 limit. A unary plus keeps SQLite off an index.
#define LAGWATCH_BETWEEN " reports.id >= ?5 AND reports.id < ?6"
#define LAGWATCH_SELECT(condition)                                                                          \
  "SELECT " LAGWATCH_REPORT_COLUMNS " FROM (SELECT * FROM reports WHERE " condition " AND" LAGWATCH_BETWEEN \
  " AND (NOT ?2 OR +segment IN (SELECT value FROM json_each(?1))) AND (?3 = '' OR +user = ?3)"              \
  " ORDER BY reports.id DESC LIMIT ?7) AS reports" LAGWATCH_JOINS " ORDER BY reports.id DESC"

const char* SqlOf(Way way) {
  switch (way) {
    case Way::kById:
      return LAGWATCH_SELECT("?4 = ?4");
    case Way::kByUser:
      return LAGWATCH_SELECT("user = ?3 AND user != '' AND ?4 = ?4");
    case Way::kByLevel1:
      return LAGWATCH_SELECT("level1 = ?4");
    case Way::kByLevel2:
      return LAGWATCH_SELECT("level2 = ?4");
    case Way::kBySegments:
      break;
  }
  // The newest of each segment; SQLite merges these ordered lists.
  return "SELECT " LAGWATCH_REPORT_COLUMNS
         R"sql(
           FROM (
             SELECT reports.*
             FROM json_each(?1)
             JOIN reports ON reports.row IN (
               SELECT row
               FROM reports AS own
               WHERE own.segment = json_each.value AND own.id >= ?5 AND own.id < ?6
                 AND (?3 = '' OR own.user = ?3) AND ?2 AND ?4 = ?4
               ORDER BY own.id DESC
               LIMIT ?7
             )
             ORDER BY reports.id DESC
             LIMIT ?7
           ) AS reports
         )sql" LAGWATCH_JOINS " ORDER BY reports.id DESC";
}

void Visit(Database* database, const ReportFilter& filter, int64_t limit,
           const std::optional<base::Uuid>& before, const std::function<void(const ReportRow&)>& visit) {
  const auto plan = PlanFor(database, filter, before);
  if (!plan) return;
  Statement rows = database->Use(SqlOf(plan->way));
  rows.Bind(plan->segments, int64_t{plan->has_segments}, filter.user, plan->cluster,
            Blob{plan->first.as_bytes()}, Blob{plan->last.as_bytes()}, limit);
  while (rows.Step()) visit(ReadRow(rows));
}

}  // namespace

base::Uuid ReadUuid(const Statement& row, int column) {
  return base::TryUuidFromBytes(row.Bytes(column)).value_or(base::Uuid{});
}

std::optional<std::string> SegmentsOf(Database* database, const ReportFilter& filter) {
  if (filter.app.empty() && filter.version.empty() && filter.kind.empty() && filter.verdict.empty() &&
      filter.loop.empty() && filter.os.empty()) {
    return std::nullopt;
  }
  auto matching = database->Use(
      R"sql(
        SELECT json_group_array(id)
        FROM segments
        WHERE (?1 = '' OR app = ?1) AND (?2 = '' OR version = ?2) AND (?3 = '' OR kind = ?3)
          AND (?4 = '' OR verdict = ?4) AND (?5 = '' OR loop = ?5) AND (?6 = '' OR os = ?6)
      )sql");
  matching.Bind(filter.app, filter.version, filter.kind, filter.verdict, filter.loop, filter.os);
  matching.Step();
  return matching.Text(0);
}

std::vector<ReportRow> ReadReports(Database* database, const ReportFilter& filter, int64_t limit,
                                   const std::optional<base::Uuid>& before) {
  std::vector<ReportRow> reports;
  Visit(database, filter, limit, before, [&](const ReportRow& report) { reports.push_back(report); });
  return reports;
}

void ReadEachReport(Database* database, const ReportFilter& filter,
                    const std::function<void(const ReportRow&)>& visit) {
  Visit(database, filter, INT64_MAX, std::nullopt, visit);
}

std::vector<StoredReport> ReadReportsWithIds(Database* database, std::span<const base::Uuid> ids) {
  std::vector<StoredReport> reports;
  for (const base::Uuid& id : ids) {
    if (auto report = ReadReport(database, id)) reports.push_back(std::move(*report));
  }
  std::ranges::sort(reports, {}, [](const StoredReport& report) { return report.row.id.bytes; });
  return reports;
}

std::vector<StoredReport> ReadReportsAfter(Database* database, const base::Uuid& after, int64_t limit) {
  std::vector<StoredReport> reports;
  Statement rows = database->Use("SELECT " LAGWATCH_REPORT_COLUMNS ", payload FROM reports" LAGWATCH_JOINS
                                 R"sql(
                                   JOIN payloads ON payloads.row = reports.row
                                   WHERE reports.id > ?
                                   ORDER BY reports.id
                                   LIMIT ?
                                 )sql");
  rows.Bind(Blob{after.as_bytes()}, limit);
  while (rows.Step()) reports.push_back({ReadRow(rows), rows.Bytes(kPayloadColumn)});
  return reports;
}

std::vector<StoredReport> ReadReportsWithUnnamed(Database* database, const std::string& build_id,
                                                 int64_t limit) {
  std::vector<StoredReport> reports;
  Statement rows = database->Use("SELECT " LAGWATCH_REPORT_COLUMNS
                                 R"sql(
                                   , payload
                                   FROM (SELECT row AS unnamed_row FROM unnamed_builds WHERE build_id = ? LIMIT ?)
                                   JOIN reports ON reports.row = unnamed_row
                                 )sql" LAGWATCH_JOINS " JOIN payloads ON payloads.row = reports.row");
  rows.Bind(Blob{build_id}, limit);
  while (rows.Step()) reports.push_back({ReadRow(rows), rows.Bytes(kPayloadColumn)});
  return reports;
}

std::optional<StoredReport> ReadReport(Database* database, const base::Uuid& id) {
  Statement row = database->Use("SELECT " LAGWATCH_REPORT_COLUMNS ", payload FROM reports" LAGWATCH_JOINS
                                " JOIN payloads ON payloads.row = reports.row WHERE reports.id = ?");
  row.Bind(Blob{id.as_bytes()});
  if (!row.Step()) return std::nullopt;
  return StoredReport{ReadRow(row), row.Bytes(kPayloadColumn)};
}

}  // namespace lagwatch::collector
