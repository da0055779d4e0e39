// SPDX-License-Identifier: Apache-2.0
#include "collector/store/sqlite/migration.h"

#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <type_traits>

#include "collector/store/sqlite/database/columns.h"
#include "collector/store/sqlite/older_schemas.h"
#include "collector/store/sqlite/report_writer.h"
#include "collector/store/sqlite/schema.h"
#include "collector/store/sqlite/tables/loss_table.h"
#include "collector/store/sqlite/tables/usage_table.h"

namespace lagwatch::collector {
namespace {

constexpr int kLastOlderVersion = 5;

int64_t SchemaVersion(Database* database) {
  Statement version = database->Use("PRAGMA user_version");
  version.Step();
  return version.Int(0);
}

// Step by step, to what version 5 had.
void MigrateToLastOlder(int64_t version, Database* database) {
  if (version <= 1) database->Execute(kSchemaOfRunEnds);
  if (version <= 2) database->Execute(kSchemaOfFrameSlices);
  if (version <= 3) database->Execute(kSchemaOfUsage);
  if (version <= 4) database->Execute(kSchemaOfSampling);
  if (version <= 4) database->Execute(kSchemaOfUnknownRecords);
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
void CopyFromLastOlder(Database* database) {
  constexpr const char* kTables[] = {"clusters",     "reports", "lag_ends", "run_ends",
                                     "frame_slices", "usage",   "losses",   "unknown_records"};
  constexpr const char* kIndexes[] = {"reports_by_lag",     "reports_by_level1",     "reports_by_level2",
                                      "run_ends_by_report", "frame_slices_by_scene", "usage_by_version"};
  auto execute = [&](const std::string& sql) { database->Execute(sql.c_str()); };
  for (const std::string table : kTables) execute("ALTER TABLE " + table + " RENAME TO older_" + table);
  for (const std::string index : kIndexes) execute("DROP INDEX " + index);
  database->Execute(kSchema);
  database->Execute(
      R"sql(
        INSERT INTO early_ends SELECT report_id, duration_ns FROM older_lag_ends;
        INSERT INTO run_ends SELECT * FROM older_run_ends;
        INSERT INTO frame_slices SELECT * FROM older_frame_slices;
        INSERT INTO usage SELECT * FROM older_usage;
        INSERT INTO losses SELECT * FROM older_losses;
        INSERT INTO unknown_records SELECT * FROM older_unknown_records;
        INSERT INTO loss_sums
        SELECT app, version, reason, cause, total(count),
          total(count * iif(sample_rate_ppm = 0 OR reason = 'not-sampled', 1, max(1, 1e6 /
            sample_rate_ppm)))
        FROM losses
        GROUP BY cause, reason, app, version;
      )sql");
}

void MoveFromLastOlder(Database* database) {
  MoveReports(database);
  SumUpUsage(database);
  for (const char* table : {"reports", "clusters", "lag_ends", "run_ends", "frame_slices", "usage", "losses",
                            "unknown_records"}) {
    database->Execute((std::string("DROP TABLE older_") + table).c_str());
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

// Columns of a report that were added since: a collector that does not know them leaves them at their
// defaults, so no version is theirs.
void AddMissingColumns(Database* database) {
  std::set<std::string> known;
  {
    Statement names = database->Use("SELECT name FROM pragma_table_info('reports')");
    while (names.Step()) known.insert(names.Text(0));
  }
  ForEachColumn(kReportColumns, [&](const auto& column) {
    using Value = typename std::remove_cvref_t<decltype(column)>::ValueType;
    if (!IsWritten(column.place) || known.contains(std::string(column.name))) return;
    std::string sql("ALTER TABLE reports ADD COLUMN ");
    sql.append(column.name).append(" ").append(AddedTypeOf<Value>());
    database->Execute(sql.c_str());
  });
}

}  // namespace

base::Status Migrate(Database* database) {
  database->Execute(
      "PRAGMA auto_vacuum = INCREMENTAL;"  // of a new file only
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
    MigrateToLastOlder(version, database);
    CopyFromLastOlder(database);
  }
  if (version <= 6) database->Execute(kSumsOfSegmentsIndex);
  if (version <= 7) database->Execute(kSchemaOfTraces);
  if (version <= 9) database->Execute(kSchemaOfSenders);
  AddMissingColumns(database);
  if (version > 0 && version <= kLastOlderVersion) MoveFromLastOlder(database);
  if (version != 0 && version <= 8) BoundLosses(database);
  if (version != kSchemaVersion) {
    database->Execute(("PRAGMA user_version = " + std::to_string(kSchemaVersion)).c_str());
  }
  transaction.Commit();
  return {};
}

}  // namespace lagwatch::collector
