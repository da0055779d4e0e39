// SPDX-License-Identifier: Apache-2.0
#include "collector/store/sqlite/record_remover.h"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include "collector/store/records.h"
#include "collector/store/sqlite/tables/record_tables.h"

namespace lagwatch::collector {
namespace {

using By = Removal::By;

enum RemovalStage : int {
  kReportStage,
  kTraceStage,
  kUsageStage,
  kLossStage,
  kFrameStage,
  kRunEndStage,
  kUnknownStage,
  kEarlyEndStage,
  kStageCount
};

struct RemovalTable {
  const char* name;
  const char* row;   // its number; null: none
  const char* id;    // null: none
  const char* time;  // the column of its age
  bool is_time_an_id;
};
constexpr std::array<RemovalTable, kStageCount> kRemovalTables = {
    {{"reports", "row", "id", "id", true},
     {"traces", "row", "id", "id", true},
     {"usage", "rowid", "id", "end_wall_ms", false},
     {"losses", nullptr, "id", "end_wall_ms", false},
     {"frame_slices", nullptr, "id", "begin_wall_ms", false},
     {"run_ends", nullptr, "session_id", "last_seen_wall_ms", false},
     {"unknown_records", "rowid", nullptr, "received_wall_ms", false},
     {"early_ends", nullptr, "report_id", "report_id", true}}};

// Of reports, all conditions but the key have an index, and found ones are gone at the next step.
bool IsRemovalScan(By by, int stage) { return stage != kReportStage || by == By::kKey; }

// A field of Protocol Buffers with the subject as its text: the record's other fields are not known.
constexpr char kHoldsText[] = R"sql(
  instr(payload, CAST(iif(length(CAST(?1 AS BLOB)) < 128, char(length(CAST(?1 AS BLOB))), '') || ?1 AS BLOB)) > 0
)sql";

// `?1` is the subject.
std::string ConditionOf(By by, int stage) {
  const bool is_report = stage == kReportStage;
  switch (by) {
    case By::kReport:
      return "id = ?1";
    case By::kCluster:
      return R"sql(
        row IN (
          SELECT row
          FROM reports
          WHERE level1 = (SELECT id FROM clusters WHERE key = ?1)
          UNION ALL
          SELECT row
          FROM reports
          WHERE level2 = (SELECT id FROM clusters WHERE key = ?1)
        )
      )sql";
    case By::kUser:
      if (stage == kUnknownStage) return kHoldsText;
      return is_report ? "user = ?1 AND user != ''" : "user = ?1";
    case By::kKey:
      return "sender = (SELECT id FROM senders WHERE name = ?1)";
    case By::kApp:
      return is_report ? "segment IN (SELECT id FROM segments WHERE app = ?1)" : "app = ?1";
    case By::kOtherApps:
      break;
  }
  const std::string others = "app NOT IN (SELECT value FROM json_each(?1))";
  return is_report ? "segment IN (SELECT id FROM segments WHERE " + others + ")" : others;
}

// Parameters: 1 the subject, 2 the row and 3 the id that it goes on after, 4 the end of the time,
// 5 the limit.
std::string BuildSql(By by, int stage) {
  const RemovalTable& table = kRemovalTables.at(static_cast<size_t>(stage));
  const std::string key = table.row != nullptr ? table.row : table.id;
  std::string sql = std::string("SELECT ") + (table.row != nullptr ? table.row : "0") + ", " +
                    (table.id != nullptr ? table.id : "x''") + " FROM " + table.name + " WHERE " +
                    ConditionOf(by, stage) + " AND (?4 IS NULL OR " + table.time + " < ?4)";
  if (IsRemovalScan(by, stage)) {
    sql += " AND " + key + (table.row != nullptr ? " > ?2 AND ?3 = ?3" : " > ?3 AND ?2 = ?2") + " ORDER BY " +
           key;
  } else {
    sql += " AND ?2 = ?2 AND ?3 = ?3";
  }
  return sql + " LIMIT ?5";
}

// Kept for good: a database knows its statements by their addresses.
const char* SqlOf(By by, int stage) {
  static const auto kSql = [] {
    std::map<std::pair<By, int>, std::string> all;
    for (By each : {By::kReport, By::kCluster, By::kUser, By::kKey, By::kApp, By::kOtherApps}) {
      for (int i = 0; i < kStageCount; ++i) all[{each, i}] = BuildSql(each, i);
    }
    return all;
  }();
  return kSql.at({by, stage}).c_str();
}

bool HasStage(By by, int stage) {
  if (by == By::kReport || by == By::kCluster) return stage == kReportStage;
  if (stage == kUnknownStage) return by == By::kKey || by == By::kUser;
  return stage != kEarlyEndStage || by == By::kKey;
}

base::Uuid UuidOf(std::string_view bytes) {
  base::Uuid id;
  std::copy_n(bytes.begin(), std::min(bytes.size(), id.bytes.size()), id.bytes.begin());
  return id;
}

int64_t RemoveTrace(Database* database, int64_t row) {
  database->Use("DELETE FROM packed_traces WHERE row = ?").Bind(row).Run();
  database->Use("DELETE FROM traces WHERE row = ?").Bind(row).Run();
  return database->changes();
}

int64_t RemoveTracesOf(Database* database, std::string_view report_id) {
  std::vector<int64_t> traces;
  {
    Statement rows = database->Use("SELECT row FROM traces WHERE report_id = ?");
    rows.Bind(Blob{report_id});
    while (rows.Step()) traces.push_back(rows.Int(0));
  }
  int64_t removed = 0;
  for (const int64_t row : traces) removed += RemoveTrace(database, row);
  return removed;
}

void RemoveRunEnd(Database* database, ReportWriter* reports, const std::string& session_id) {
  std::string report_id;
  {
    Statement row =
        database->Use("DELETE FROM run_ends WHERE session_id = ? RETURNING coalesce(report_id, x'')");
    row.Bind(Blob{session_id});
    if (row.Step()) report_id = row.Bytes(0);
    row.Run();
  }
  if (!report_id.empty()) reports->NoteUnkilled(UuidOf(report_id));
}

void RemoveLossesOf(Database* database, ReportWriter* reports, std::span<const std::string> ids) {
  std::set<int64_t> causes;
  RemoveLosses(database, ids, &causes);
  for (const int64_t cause : causes) reports->NoteLost(cause);
}

// Adds how many it removed.
void RemoveOthers(Database* database, ReportWriter* reports, const FoundRecords& found,
                  RemovalProgress* progress) {
  progress->others += static_cast<int64_t>(std::max(found.rows.size(), found.ids.size()));
  switch (progress->stage) {
    case kUsageStage:
      return RemoveUsage(database, found.rows);
    case kLossStage:
      return RemoveLossesOf(database, reports, found.ids);
    case kFrameStage:
      for (const std::string& id : found.ids)
        database->Use("DELETE FROM frame_slices WHERE id = ?").Bind(Blob{id}).Run();
      return;
    case kRunEndStage:
      for (const std::string& id : found.ids) RemoveRunEnd(database, reports, id);
      return;
    case kEarlyEndStage:
      for (const std::string& id : found.ids)
        database->Use("DELETE FROM early_ends WHERE report_id = ?").Bind(Blob{id}).Run();
      return;
    default:
      for (const int64_t row : found.rows)
        database->Use("DELETE FROM unknown_records WHERE rowid = ?").Bind(row).Run();
  }
}

// The parameters of a statement of BuildSql, which borrows them until its end.
struct RemovalParameters {
  explicit RemovalParameters(const Removal& removal)
      : text(removal.by == By::kOtherApps ? NamesToJson(removal.excluded_apps) : removal.subject),
        report(base::TryParseUuid(removal.subject).value_or(base::Uuid{})),
        end_id(FirstIdOf(removal.before_day.value_or(0))) {
    if (removal.before_day) end_ms = *removal.before_day * kMsPerDay;
  }

  std::string text;
  base::Uuid report;
  base::Uuid end_id;
  std::optional<int64_t> end_ms;
};

void BindRemoval(const Removal& removal, const RemovalParameters& parameters, const RemovalProgress& progress,
                 int64_t limit, Statement* rows) {
  const bool is_time_an_id = kRemovalTables.at(static_cast<size_t>(progress.stage)).is_time_an_id;
  const Blob after{progress.after_id};
  auto bind = [&](const auto& subject) {
    if (parameters.end_ms && is_time_an_id) {
      rows->Bind(subject, progress.after_row, after, Blob{parameters.end_id.as_bytes()}, limit);
    } else {
      rows->Bind(subject, progress.after_row, after, parameters.end_ms, limit);
    }
  };
  if (removal.by == By::kReport) {
    bind(Blob{parameters.report.as_bytes()});
  } else {
    bind(std::string_view(parameters.text));
  }
}

// All reports of the same hangs: what stayed of a hang would be of another cause.
FoundRecords ReportsOfHangs(Database* database, const FoundRecords& reports,
                            const RemovalParameters& parameters) {
  std::set<std::string> hangs;
  for (const std::string& id : reports.ids) {
    Statement hang = database->Use("SELECT lag_id FROM reports WHERE id = ?");
    hang.Bind(Blob{id});
    if (hang.Step()) hangs.insert(hang.Bytes(0));
  }
  FoundRecords all;
  for (const std::string& hang : hangs) {
    Statement rows = database->Use(
        R"sql(
          SELECT row, id FROM reports WHERE id = ?1
          UNION ALL
          SELECT row, id FROM reports WHERE lag_id = ?1 AND lag_id != id
        )sql");
    rows.Bind(Blob{hang});
    while (rows.Step()) {
      if (parameters.end_ms && rows.Bytes(1) >= parameters.end_id.as_bytes()) continue;
      all.rows.push_back(rows.Int(0));
      all.ids.push_back(rows.Bytes(1));
    }
  }
  return all;
}

}  // namespace

FoundRecords FindRecords(Database* database, const Removal& removal, const RemovalProgress& progress,
                         int64_t limit) {
  const RemovalTable& table = kRemovalTables.at(static_cast<size_t>(progress.stage));
  FoundRecords found;
  const RemovalParameters parameters(removal);
  Statement rows = database->Use(SqlOf(removal.by, progress.stage));
  BindRemoval(removal, parameters, progress, limit, &rows);
  while (rows.Step()) {
    if (table.row != nullptr) found.rows.push_back(rows.Int(0));
    if (table.id != nullptr) found.ids.push_back(rows.Bytes(1));
  }
  return removal.by == By::kCluster ? ReportsOfHangs(database, found, parameters) : found;
}

void RemoveRecords(Database* database, ReportWriter* reports, const FoundRecords& found,
                   RemovalProgress* progress) {
  switch (progress->stage) {
    case kReportStage:
      for (const std::string& id : found.ids) {
        progress->reports += reports->Remove(UuidOf(id));
        progress->traces += RemoveTracesOf(database, id);
      }
      return;
    case kTraceStage:
      for (const int64_t row : found.rows) progress->traces += RemoveTrace(database, row);
      return;
    default:
      return RemoveOthers(database, reports, found, progress);
  }
}

bool Advance(const Removal& removal, const FoundRecords& found, int64_t limit, RemovalProgress* progress) {
  const auto count = static_cast<int64_t>(std::max(found.rows.size(), found.ids.size()));
  if (count >= limit) {
    if (!IsRemovalScan(removal.by, progress->stage)) return true;
    if (!found.rows.empty()) progress->after_row = found.rows.back();
    if (!found.ids.empty()) progress->after_id = found.ids.back();
    return true;
  }
  progress->after_row = 0;
  progress->after_id.clear();
  do {
    ++progress->stage;
  } while (progress->stage < kStageCount && !HasStage(removal.by, progress->stage));
  return progress->stage < kStageCount;
}

}  // namespace lagwatch::collector
