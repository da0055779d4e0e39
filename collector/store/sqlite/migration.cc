// SPDX-License-Identifier: Apache-2.0
#include "collector/store/sqlite/migration.h"

#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <type_traits>

#include "collector/store/sqlite/database/columns.h"
#include "collector/store/sqlite/report_writer.h"
#include "collector/store/sqlite/schema.h"
#include "collector/store/sqlite/tables/record_tables.h"

namespace lagwatch::collector {
namespace {

constexpr int kLastOlderVersion = 5;

// The tables of those versions.
constexpr struct {
  const char* name;
  int since;        // the version that added it
  bool is_as_ever;  // version 6 has the same columns
} kOlderTables[] = {{"reports", 1, false}, {"clusters", 1, false},      {"lag_ends", 1, false},
                    {"run_ends", 2, true}, {"frame_slices", 3, true},   {"usage", 4, true},
                    {"losses", 5, true},   {"unknown_records", 5, true}};

int64_t SchemaVersion(Database* database) {
  Statement version = database->Use("PRAGMA user_version");
  version.Step();
  return version.Int(0);
}

Cluster ReadOlderCluster(Database* database, const std::string& key) {
  Statement row =
      database->Use("SELECT key, level, coalesce(parent, ''), frames, via FROM older_clusters WHERE key = ?");
  row.Bind(key);
  if (!row.Step()) return {key, 1, {}, {}, {}};
  return {row.Text(0), static_cast<int>(row.Int(1)), row.Text(2), nlohmann::json::parse(row.Text(3)),
          row.Text(4)};
}

// Each report is put in as if it came now, so that the sums come to be.
void MoveReports(Database* database) {
  ReportWriter writer(database);
  Statement rows = database->Use(
      R"sql(
        SELECT id, lag_id, session_id, ordinal, app, version, user, kind, loop, tag, os, machine, pid,
          tid, threshold_ms, start_wall_ms, elapsed_ns, cpu_window_ns, cpu_thread_ns, cpu_process_ns,
          level1, level2, sample_rate_ppm, cause, payload
        FROM older_reports
        ORDER BY id
      )sql");
  while (rows.Step()) {
    NewReport report;
    const std::string payload = rows.Bytes(24);
    const auto decoded = report::DecodeReport(payload);
    report.row = {.id = rows.Id(0),
                  .hang_id = rows.Id(1),
                  .session_id = rows.Id(2),
                  .ordinal = rows.Int(3),
                  .app = rows.Text(4),
                  .version = rows.Text(5),
                  .user = rows.Text(6),
                  .kind = rows.Text(7),
                  .verdict = policies::VerdictName(decoded.ok() ? decoded->verdict.word
                                                                : policies::VerdictWord::kUnknown),
                  .loop = rows.Text(8),
                  .tag = rows.Text(9),
                  .os = rows.Text(10),
                  .machine = rows.Text(11),
                  .pid = rows.Int(12),
                  .tid = rows.Int(13),
                  .threshold_ms = rows.Int(14),
                  .start_wall_ms = rows.Int(15),
                  .elapsed_ns = rows.Int(16),
                  .cpu_window_ns = rows.Int(17),
                  .cpu_thread_ns = rows.Int(18),
                  .cpu_process_ns = rows.Int(19),
                  .level1_key = rows.Text(20),
                  .level2_key = rows.Text(21),
                  .duration_ns = std::nullopt,
                  .sample_rate_ppm = rows.Int(22),
                  .cause = rows.Int(23)};
    report.clusters = {ReadOlderCluster(database, report.row.level1_key),
                       ReadOlderCluster(database, report.row.level2_key)};
    report.payload = payload;
    writer.Insert(report);
  }
  writer.Finish();
}

void SumUpUsage(Database* database) {
  Statement rows = database->Use("SELECT payload FROM usage");
  while (rows.Step()) {
    const auto usage = report::DecodeUsage(rows.Bytes(0));
    if (usage.ok()) AddToUsageSums(database, *usage);
  }
}

// Version 6 made the tables strict and keeps sums of clusters. Reports and their sums come later, when all
// that they are written to is there.
void CopyFromOlder(int64_t version, Database* database) {
  constexpr const char* kIndexes[] = {"reports_by_lag",     "reports_by_level1",     "reports_by_level2",
                                      "run_ends_by_report", "frame_slices_by_scene", "usage_by_version"};
  auto execute = [&](const std::string& sql) { database->Execute(sql.c_str()); };
  if (version < 5) {
    execute("ALTER TABLE reports ADD COLUMN sample_rate_ppm INTEGER NOT NULL DEFAULT 0");
    execute("ALTER TABLE reports ADD COLUMN cause INTEGER NOT NULL DEFAULT 0");
  }
  for (const auto& [name, since, is_as_ever] : kOlderTables) {
    if (since <= version) execute("ALTER TABLE " + std::string(name) + " RENAME TO older_" + name);
  }
  for (const std::string index : kIndexes) execute("DROP INDEX IF EXISTS " + index);
  database->Execute(kSchema);
  for (const auto& [name, since, is_as_ever] : kOlderTables) {
    if (since <= version && is_as_ever)
      execute("INSERT INTO " + std::string(name) + " SELECT * FROM older_" + name);
  }
  database->Execute(
      R"sql(
        INSERT INTO early_ends (report_id, duration_ns) SELECT report_id, duration_ns FROM older_lag_ends;
        INSERT INTO loss_sums
        SELECT app, version, reason, cause, total(count),
          total(count * iif(sample_rate_ppm = 0 OR reason = 'not-sampled', 1, max(1, 1e6 /
            sample_rate_ppm)))
        FROM losses
        GROUP BY cause, reason, app, version;
      )sql");
}

void MoveFromOlder(int64_t version, Database* database) {
  MoveReports(database);
  SumUpUsage(database);
  for (const auto& [name, since, is_as_ever] : kOlderTables) {
    if (since <= version) database->Execute((std::string("DROP TABLE older_") + name).c_str());
  }
}

// Version 9 limits the weight of an entry of losses (loss_weights.h), and of a report (kMostWeight): sums
// that have more of it are rebuilt in the background.
void BoundLosses(Database* database) {
  for (const char* level : {"level1", "level2"}) {
    const std::string sql = std::string("INSERT OR IGNORE INTO shrunk_clusters SELECT DISTINCT ") + level +
                            " FROM reports WHERE sample_rate_ppm BETWEEN 1 AND 99";
    database->Execute(sql.c_str());
  }
  // Subtracting from a made-up number would leave nothing valid.
  database->Execute(
      R"sql(
        UPDATE cause_reports SET lost_reports = 0;
        UPDATE cluster_sums SET lost_reports = 0, estimated_hang_ns = weighted_hang_ns
        WHERE segment = 0 AND day = 0 AND lost_reports != 0
      )sql");
  ReportWriter writer(database);
  std::set<int64_t> causes;
  RebuildLossSums(database, &causes);
  for (int64_t cause : causes) writer.NoteLost(cause);
  writer.Finish();
}

// Version 11 counts a hang as one cause, and a run that names no user as one of its own: sums are rebuilt in
// the background.
void CountHangsOnce(Database* database) {
  constexpr size_t kAtOnce = 1000;  // sums that are held in memory
  const std::vector<base::Uuid> hangs =
      database->Use("SELECT DISTINCT lag_id FROM reports WHERE lag_id != id").All([](const Statement& row) {
        return row.Id(0);
      });
  ReportWriter writer(database);
  for (size_t i = 0; i < hangs.size(); ++i) {
    writer.NoteHangOf(hangs[i]);
    if ((i + 1) % kAtOnce == 0) writer.Finish();
  }
  writer.Finish();
  database->Execute(
      R"sql(
        INSERT OR IGNORE INTO shrunk_clusters SELECT id FROM clusters;
        INSERT OR IGNORE INTO shrunk_totals SELECT segment, day FROM cluster_sums WHERE cluster = 0
      )sql");
}

// Columns of a report that were added since: a collector that does not know them leaves them at their
// defaults, so no version is theirs.
void AddMissingColumns(Database* database) {
  const auto columns_of = [&](std::string_view table) {
    std::set<std::string> known;
    Statement names = database->Use("SELECT name FROM pragma_table_info(?)");
    names.Bind(table);
    while (names.Step()) known.insert(names.Text(0));
    return known;
  };
  // HangEnd::is_blamed.
  for (const std::string table : {"reports", "early_ends"}) {
    if (!columns_of(table).contains("is_blamed"))
      database->Execute(
          ("ALTER TABLE " + table + " ADD COLUMN is_blamed INTEGER NOT NULL DEFAULT 0").c_str());
  }
  // The key that brought an end, as in other tables (kSchemaOfSenders).
  if (!columns_of("early_ends").contains("sender"))
    database->Execute("ALTER TABLE early_ends ADD COLUMN sender INTEGER NOT NULL DEFAULT 0");
  const std::set<std::string> known = columns_of("reports");
  // ReportRow::capped_ns, and its sums.
  if (!known.contains("capped_ns"))
    database->Execute("ALTER TABLE reports ADD COLUMN capped_ns REAL NOT NULL DEFAULT 0");
  database->Execute(kSchemaOfCapped);
  ForEachColumn(kReportColumns, [&](const auto& column) {
    using Value = typename std::remove_cvref_t<decltype(column)>::ValueType;
    if (column.place != ColumnPlace::kTable || known.contains(std::string(column.name))) return;
    std::string sql("ALTER TABLE reports ADD COLUMN ");
    sql.append(column.name).append(" ").append(AddedTypeOf<Value>());
    database->Execute(sql.c_str());
  });
}

}  // namespace

base::Status Migrate(Database* database) {
  database->Execute(
      "PRAGMA auto_vacuum = INCREMENTAL;"  // of a new file only
      " PRAGMA secure_delete = ON;"        // Debian's default
      " PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA foreign_keys = ON;"
      // 64 MiB each: pages that are written often are written to the database once.
      " PRAGMA wal_autocheckpoint = 16000; PRAGMA cache_size = -65536;");
  Transaction transaction(database);
  const int64_t version = SchemaVersion(database);
  if (version > kSchemaVersion) {
    return {base::StatusCode::kInvalid, "was written by a newer lagwatch (schema " + std::to_string(version) +
                                            ", known here: " + std::to_string(kSchemaVersion) +
                                            "); update this collector or give another --data"};
  }
  if (version == 0) {
    database->Execute(kSchema);
  } else if (version <= kLastOlderVersion) {
    CopyFromOlder(version, database);
  }
  if (version <= 6) database->Execute(kSumsOfSegmentsIndex);
  if (version <= 7) database->Execute(kSchemaOfTraces);
  if (version <= 9) database->Execute(kSchemaOfSenders);
  if (version <= 10) database->Execute(kSchemaOfOwnClusters);
  AddMissingColumns(database);
  if (version > 0 && version <= kLastOlderVersion) MoveFromOlder(version, database);
  if (version != 0 && version <= 8) BoundLosses(database);
  if (version > kLastOlderVersion && version <= 10) CountHangsOnce(database);
  if (version != kSchemaVersion) {
    database->Execute(("PRAGMA user_version = " + std::to_string(kSchemaVersion)).c_str());
  }
  transaction.Commit();
  return {};
}

}  // namespace lagwatch::collector
