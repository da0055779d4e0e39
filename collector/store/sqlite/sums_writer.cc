// SPDX-License-Identifier: Apache-2.0
#include "collector/store/sqlite/sums_writer.h"

#include <sqlite3.h>

#include <exception>
#include <string>

#include "collector/store/sqlite/sums_reader.h"

namespace lagwatch::collector {
namespace {

std::string_view BlobOf(sqlite3_value* value) {
  const void* bytes = sqlite3_value_blob(value);
  return {static_cast<const char*>(bytes), static_cast<size_t>(sqlite3_value_bytes(value))};
}

// merge_sketches(a, b): the sketches of both.
void MergeSketches(sqlite3_context* context, int, sqlite3_value** values) {
  try {
    CauseSums sums;
    CauseSums added;
    DecodeSketches(BlobOf(values[0]), &sums);
    DecodeSketches(BlobOf(values[1]), &added);
    sums.Add(added);
    const std::string merged = EncodeSketches(sums);
    sqlite3_result_blob64(context, merged.data(), merged.size(), SQLITE_TRANSIENT);
  } catch (const std::exception&) {
    sqlite3_result_error_nomem(context);
  }
}

}  // namespace

void RegisterSumsFunctions(Database* database) {
  sqlite3_create_function_v2(database->handle(), "merge_sketches", 2, SQLITE_UTF8 | SQLITE_DETERMINISTIC,
                             nullptr, &MergeSketches, nullptr, nullptr, nullptr);
}

void SumsWriter::Count(const ReportPlace& place, const Contribution& contribution, int sign) {
  const auto [level1, level2] = place.clusters;
  CountAt(0, 0, 0, place, contribution, sign);
  CountAt(level1, 1, 0, place, contribution, sign);
  CountAt(level2, 2, level1, place, contribution, sign);
  if (place.cause == 0) return;
  for (int64_t cluster : {int64_t{0}, level1, level2}) cause_reports_[{place.cause, cluster}] += sign;
}

void SumsWriter::CountIn(int64_t cluster, const ReportPlace& place, const Contribution& contribution) {
  const auto [level1, level2] = place.clusters;
  if (cluster == level1) CountAt(level1, 1, 0, place, contribution, 1);
  if (cluster == level2) CountAt(level2, 2, level1, place, contribution, 1);
}

void SumsWriter::CountAt(int64_t cluster, int level, int64_t parent, const ReportPlace& place,
                         const Contribution& contribution, int sign) {
  for (const Key& key : {Key{cluster, 0, 0}, Key{cluster, place.segment, 0}, Key{cluster, 0, place.day}}) {
    Change& change = changes_[key];
    change.level = level;
    change.parent = parent;
    contribution.AddTo(&change.sums, sign);
  }
}

void SumsWriter::CountCapped(const ReportPlace& place, int64_t reports, double capped_ns) {
  const auto [level1, level2] = place.clusters;
  const struct {
    int64_t cluster, parent;
    int level;
  } clusters[] = {{0, 0, 0}, {level1, 0, 1}, {level2, level1, 2}};
  for (const auto& each : clusters) {
    for (const Key& key :
         {Key{each.cluster, 0, 0}, Key{each.cluster, place.segment, 0}, Key{each.cluster, 0, place.day}}) {
      Change& change = changes_[key];
      change.level = each.level;
      change.parent = each.parent;
      change.sums.capped_reports += reports;
      change.sums.capped_ns += capped_ns;
    }
  }
}

void SumsWriter::Write(Database* database) {
  WriteSums(database);
  for (int64_t cluster : remade_clusters_) LossSharer::SumUp(cluster, database);
  WriteCauses(database);
  for (int64_t cause : causes_) loss_sharer_.ShareOut(cause, database);
  Clear();
}

void SumsWriter::Forget() {
  Clear();
  loss_sharer_.Forget();
}

void SumsWriter::Clear() {
  changes_.clear();
  cause_reports_.clear();
  causes_.clear();
  remade_clusters_.clear();
}

void SumsWriter::WriteSums(Database* database) const {
  for (const auto& [key, change] : changes_) {
    const CauseSums& sums = change.sums;
    if (sums.capped_reports != 0 || sums.capped_ns != 0) WriteCapped(key, sums, database);
    const std::string sketches = EncodeSketches(sums);
    Statement row = database->Use(
        R"sql(
              INSERT INTO cluster_sums (cluster, segment, day, level, parent, reports, lags, hang_ns,
                weighted_lags, weighted_hang_ns, longest_ns, first_seen_ms, last_seen_ms, sketches,
                estimated_hang_ns)
              VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?10)
              ON CONFLICT (cluster, segment, day) DO UPDATE SET reports = reports + ?6,
                lags = lags + ?7, hang_ns = hang_ns + ?8, weighted_lags = weighted_lags + ?9,
                weighted_hang_ns = weighted_hang_ns + ?10, longest_ns = max(longest_ns, ?11),
                first_seen_ms = iif(?6 > 0, min(first_seen_ms, ?12), first_seen_ms),
                last_seen_ms = max(last_seen_ms, ?13), sketches = merge_sketches(sketches, ?14),
                estimated_hang_ns = weighted_hang_ns + ?10 + lost_reports * (hang_ns + ?8) / max(reports
                  + ?6, 1)
              RETURNING reports
            )sql");
    row.Bind(key.cluster, key.segment, key.day, int64_t{change.level}, change.parent, sums.reports,
             sums.hangs, sums.hang_ns, sums.weighted_hangs, sums.weighted_hang_ns, sums.longest_ns,
             sums.first_seen_ms, sums.last_seen_ms, Blob{sketches});
    row.Step();
    if (row.Int(0) > 0) continue;
    // All was taken out, of what was put in meanwhile, too.
    row.Run();
    database->Use("DELETE FROM cluster_sums WHERE cluster = ? AND segment = ? AND day = ?")
        .Bind(key.cluster, key.segment, key.day)
        .Run();
  }
}

void SumsWriter::WriteCapped(const Key& key, const CauseSums& sums, Database* database) {
  Statement row = database->Use(
      R"sql(
        INSERT INTO capped_sums (cluster, segment, day, reports, hang_ns)
        VALUES (?1, ?2, ?3, ?4, ?5)
        ON CONFLICT (cluster, segment, day) DO UPDATE SET reports = reports + ?4, hang_ns = hang_ns + ?5
        RETURNING reports
      )sql");
  row.Bind(key.cluster, key.segment, key.day, sums.capped_reports, sums.capped_ns);
  row.Step();
  if (row.Int(0) > 0) return;
  row.Run();
  database->Use("DELETE FROM capped_sums WHERE cluster = ? AND segment = ? AND day = ?")
      .Bind(key.cluster, key.segment, key.day)
      .Run();
}

void SumsWriter::WriteCauses(Database* database) {
  for (const auto& [key, reports] : cause_reports_) {
    if (reports == 0) continue;
    database
        ->Use(
            R"sql(
              INSERT INTO cause_reports (cause, cluster, reports)
              VALUES (?1, ?2, ?3)
              ON CONFLICT (cause, cluster) DO UPDATE SET reports = reports + ?3
            )sql")
        .Bind(key.cause, key.cluster, reports)
        .Run();
    causes_.insert(key.cause);
  }
}

void RepairTotal(Database* database, int64_t segment, int64_t day) {
  CauseSums sums;
  {
    Statement rows = database->Use("SELECT " LAGWATCH_SUMS
                                   " FROM cluster_sums WHERE level = 1 AND segment = ? AND day = ?");
    rows.Bind(segment, day);
    while (rows.Step()) sums.Add(ReadSums(rows, 0));
  }
  if (sums.reports <= 0) {
    database->Use("DELETE FROM cluster_sums WHERE cluster = 0 AND segment = ? AND day = ?")
        .Bind(segment, day)
        .Run();
    return;
  }
  const std::string sketches = EncodeSketches(sums);
  database
      ->Use(
          R"sql(
            UPDATE cluster_sums SET reports = ?3, lags = ?4, hang_ns = ?5, weighted_lags = ?6,
              weighted_hang_ns = ?7, longest_ns = ?8, first_seen_ms = ?9, last_seen_ms = ?10,
              sketches = ?11, estimated_hang_ns = ?7 + lost_reports * ?5 / max(?3, 1)
            WHERE cluster = 0 AND segment = ?1 AND day = ?2
          )sql")
      .Bind(segment, day, sums.reports, sums.hangs, sums.hang_ns, sums.weighted_hangs, sums.weighted_hang_ns,
            sums.longest_ns, sums.first_seen_ms, sums.last_seen_ms, Blob{sketches})
      .Run();
}

}  // namespace lagwatch::collector
