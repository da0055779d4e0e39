// SPDX-License-Identifier: Apache-2.0
#include "collector/store/sqlite/report_reader.h"

#include <algorithm>
#include <utility>

#include "collector/store/sqlite/database/columns.h"

namespace lagwatch::collector {
namespace {

constexpr char kJoins[] = R"sql(
  JOIN segments ON segments.id = segment
  JOIN clusters AS one ON one.id = level1
  JOIN clusters AS two ON two.id = level2
)sql";

constexpr int kColumnsOfReport = kColumnCount<decltype(kReportColumns)>;

std::string ColumnsOfReport() { return SelectedColumns("reports", kReportColumns) + ", reports.capped_ns"; }

ReportRow ReadReportRow(const Statement& row) {
  auto report = ReadRecord<ReportRow>(row, kReportColumns);
  report.capped_ns = row.Real(kColumnsOfReport);
  return report;
}

// Reads a row of SelectWithPayload().
StoredReport ReadStored(const Statement& row) {
  return {ReadReportRow(row), row.Bytes(kColumnsOfReport + 1)};
}

// Selects from `reports`, which is a table or a subquery of this name; `rest` comes after all joins.
std::string Select(const std::string& reports, const std::string& rest) {
  return "SELECT " + ColumnsOfReport() + " FROM " + reports + kJoins + rest;
}
std::string SelectWithPayload(const std::string& reports, const std::string& rest) {
  return "SELECT " + ColumnsOfReport() + ", payload FROM " + reports + kJoins +
         " JOIN payloads ON payloads.row = reports.row " + rest;
}

// The access path with the fewest reports to skip. All have the ids in order.
enum class Way { kById, kByUser, kByLevel1, kByLevel2, kBySegments };

struct ReportPlan {
  Way way = Way::kById;
  std::string segments = "[]";  // those that match; all when it has none
  bool has_segments = false;
  int64_t cluster = 0;
  base::Uuid first{};
  base::Uuid last{};
};

// Nothing when no report can match.
std::optional<ReportPlan> PlanFor(Database* database, const ReportFilter& filter,
                                  const std::optional<base::Uuid>& before) {
  ReportPlan plan;
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

constexpr int kFirstOwnText = 8;

// The conditions of the texts that the table of reports has itself, as its parameters from kFirstOwnText on.
// A unary plus keeps SQLite off an index.
std::string OwnTexts(const std::string& table) {
  std::string conditions;
  int number = kFirstOwnText;
  for (const FilterText& text : kFilterTexts) {
    if (text.is_of_segment) continue;
    const std::string parameter = "?" + std::to_string(number++);
    conditions.append(" AND (").append(parameter).append(" = '' OR +").append(table).append(".");
    conditions.append(text.name).append(" = ").append(parameter).append(")");
  }
  return conditions;
}

// Parameters: 1 segments, 2 whether they count, 3 user, 4 cluster, 5 and 6 first id and that after the last,
// 7 limit, then those of OwnTexts().
std::string SelectWhere(const std::string& condition) {
  return Select("(SELECT * FROM reports WHERE " + condition +
                    R"sql(
                      AND reports.id >= ?5 AND reports.id < ?6
                      AND (NOT ?2 OR +segment IN (SELECT value FROM json_each(?1)))
                    )sql" +
                    OwnTexts("reports") + R"sql(
                      ORDER BY reports.id DESC
                      LIMIT ?7
                    ) AS reports
                    )sql",
                "ORDER BY reports.id DESC");
}

// The newest of each segment; SQLite merges these ordered lists.
std::string NewestOfSegments() {
  return R"sql(
  (
    SELECT reports.*
    FROM json_each(?1)
    JOIN reports ON reports.row IN (
      SELECT row
      FROM reports AS own
      WHERE own.segment = json_each.value AND own.id >= ?5 AND own.id < ?6
        AND ?2 AND ?4 = ?4
  )sql" + OwnTexts("own") +
         R"sql(
      ORDER BY own.id DESC
      LIMIT ?7
    )
    ORDER BY reports.id DESC
    LIMIT ?7
  ) AS reports
)sql";
}

const char* SqlOf(Way way) {
  static const std::string by_id = SelectWhere("?4 = ?4");
  static const std::string by_user = SelectWhere("user = ?3 AND user != '' AND ?4 = ?4");
  static const std::string by_level1 = SelectWhere("level1 = ?4");
  static const std::string by_level2 = SelectWhere("level2 = ?4");
  static const std::string by_segments = Select(NewestOfSegments(), "ORDER BY reports.id DESC");
  switch (way) {
    case Way::kById:
      return by_id.c_str();
    case Way::kByUser:
      return by_user.c_str();
    case Way::kByLevel1:
      return by_level1.c_str();
    case Way::kByLevel2:
      return by_level2.c_str();
    case Way::kBySegments:
      break;
  }
  return by_segments.c_str();
}

void Visit(Database* database, const ReportFilter& filter, int64_t limit,
           const std::optional<base::Uuid>& before, const std::function<void(const ReportRow&)>& visit) {
  const auto plan = PlanFor(database, filter, before);
  if (!plan) return;
  Statement rows = database->Use(SqlOf(plan->way));
  rows.Bind(plan->segments, int64_t{plan->has_segments}, filter.user, plan->cluster, plan->first, plan->last,
            limit);
  for (const FilterText& text : kFilterTexts) {
    if (!text.is_of_segment) rows.Bind(filter.*text.wanted);
  }
  while (rows.Step()) visit(ReadReportRow(rows));
}

}  // namespace

std::optional<std::string> SegmentsOf(Database* database, const ReportFilter& filter) {
  static const std::string sql = [] {
    std::string conditions;
    for (const FilterText& text : kFilterTexts) {
      if (!text.is_of_segment) continue;
      conditions += conditions.empty() ? " WHERE" : " AND";
      conditions.append(" ? IN ('', ").append(text.name).append(")");
    }
    return "SELECT json_group_array(id) FROM segments" + conditions;
  }();
  bool has_any = false;
  Statement matching = database->Use(sql.c_str());
  for (const FilterText& text : kFilterTexts) {
    if (!text.is_of_segment) continue;
    matching.Bind(filter.*text.wanted);
    has_any |= !(filter.*text.wanted).empty();
  }
  if (!has_any) return std::nullopt;
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

std::vector<base::Uuid> ReadIds(Database* database, const base::Uuid& first, const base::Uuid& last,
                                int64_t limit) {
  return database->Use("SELECT id FROM reports WHERE id BETWEEN ? AND ? ORDER BY id LIMIT ?")
      .Bind(first, last, limit)
      .All([](const Statement& row) { return row.Id(0); });
}

std::vector<ReportRow> ReadReportsOfRun(Database* database, const base::Uuid& session_id,
                                        int64_t first_wall_ms, int64_t last_wall_ms, int64_t limit) {
  static const std::string sql = Select(
      "(SELECT * FROM reports WHERE session_id = ? AND id >= ? AND id < ? ORDER BY id DESC LIMIT ?) AS "
      "reports",
      " ORDER BY reports.id DESC");
  return database->Use(sql.c_str())
      .Bind(session_id, FirstIdAt(first_wall_ms), FirstIdAt(last_wall_ms + 1), limit)
      .All([](const Statement& row) { return ReadReportRow(row); });
}

std::optional<int64_t> ReadNewestDay(Database* database) {
  std::optional<int64_t> newest;
  for (const char* sql : {"SELECT max(id) FROM reports", "SELECT max(id) FROM usage",
                          "SELECT max(id) FROM losses", "SELECT max(id) FROM traces"}) {
    Statement row = database->Use(sql);
    if (!row.Step()) continue;
    const auto id = base::TryUuidFromBytes(row.Bytes(0));
    if (id) newest = std::max(newest.value_or(0), DayOf(*id));
  }
  return newest;
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
  static const std::string sql =
      SelectWithPayload("reports", "WHERE reports.id > ? ORDER BY reports.id LIMIT ?");
  return database->Use(sql.c_str()).Bind(after, limit).All(ReadStored);
}

std::vector<UnnamedBuild> ReadUnnamedBuilds(Database* database, int64_t limit) {
  return database
      ->Use("SELECT build_id, count(*) FROM unnamed_builds GROUP BY build_id ORDER BY 2 DESC LIMIT ?")
      .Bind(limit)
      .All([](const Statement& row) -> UnnamedBuild {
        return {row.Bytes(0), row.Int(1)};
      });
}

std::vector<StoredReport> ReadReportsWithUnnamed(Database* database, const std::string& build_id,
                                                 int64_t limit) {
  static const std::string sql = SelectWithPayload(
      R"sql(
        (SELECT row AS unnamed_row FROM unnamed_builds WHERE build_id = ? LIMIT ?)
        JOIN reports ON reports.row = unnamed_row
      )sql",
      "");
  return database->Use(sql.c_str()).Bind(Blob{build_id}, limit).All(ReadStored);
}

std::optional<StoredReport> ReadReport(Database* database, const base::Uuid& id) {
  static const std::string sql = SelectWithPayload("reports", "WHERE reports.id = ?");
  Statement row = database->Use(sql.c_str());
  row.Bind(id);
  if (!row.Step()) return std::nullopt;
  return ReadStored(row);
}

}  // namespace lagwatch::collector
