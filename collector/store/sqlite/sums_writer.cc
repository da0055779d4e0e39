// SPDX-License-Identifier: Apache-2.0
#include "collector/store/sqlite/sums_writer.h"

#include <sqlite3.h>

#include <exception>
#include <string>

#include "collector/store/loss_weights.h"

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

// Whether losses of that cause are shared out now.
bool HasShares(Database* database, int64_t cause) {
  Statement shares =
      database->Use("SELECT 1 FROM cause_reports WHERE cause = ? AND lost_reports > 0 LIMIT 1");
  shares.Bind(cause);
  return shares.Step();
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

void SumsWriter::Write(Database* database) {
  WriteSums(database);
  WriteCauses(database);
  ShareOutLosses(database);
  changes_.clear();
  cause_reports_.clear();
  causes_.clear();
}

void SumsWriter::WriteSums(Database* database) const {
  for (const auto& [key, change] : changes_) {
    const CauseSums& sums = change.sums;
    const std::string sketches = EncodeSketches(sums);
    database
        ->Use(
            "INSERT INTO cluster_sums (cluster, segment, day, level, parent, reports, lags, hang_ns,"
            " weighted_lags, weighted_hang_ns, longest_ns, first_seen_ms, last_seen_ms, sketches,"
            " estimated_hang_ns) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?10)"
            " ON CONFLICT (cluster, segment, day) DO UPDATE SET reports = reports + ?6, lags = lags + ?7,"
            " hang_ns = hang_ns + ?8, weighted_lags = weighted_lags + ?9,"
            " weighted_hang_ns = weighted_hang_ns + ?10, longest_ns = max(longest_ns, ?11),"
            " first_seen_ms = iif(?6 > 0, min(first_seen_ms, ?12), first_seen_ms),"
            " last_seen_ms = max(last_seen_ms, ?13), sketches = merge_sketches(sketches, ?14),"
            " estimated_hang_ns = weighted_hang_ns + ?10"
            "  + lost_reports * (hang_ns + ?8) / max(reports + ?6, 1)")
        .Bind(key.cluster, key.segment, key.day, int64_t{change.level}, change.parent, sums.reports,
              sums.lags, sums.hang_ns, sums.weighted_lags, sums.weighted_hang_ns, sums.longest_ns,
              sums.first_seen_ms, sums.last_seen_ms, Blob{sketches})
        .Run();
    if (sums.reports >= 0) continue;
    database->Use("DELETE FROM cluster_sums WHERE cluster = ? AND segment = ? AND day = ? AND reports <= 0")
        .Bind(key.cluster, key.segment, key.day)
        .Run();
  }
}

void SumsWriter::WriteCauses(Database* database) {
  for (const auto& [key, reports] : cause_reports_) {
    if (reports == 0) continue;
    database
        ->Use(
            "INSERT INTO cause_reports (cause, cluster, reports) VALUES (?1, ?2, ?3)"
            " ON CONFLICT (cause, cluster) DO UPDATE SET reports = reports + ?3")
        .Bind(key.cause, key.cluster, reports)
        .Run();
    causes_.insert(key.cause);
  }
}

// A lost report is taken for one like those of its cause that came: of their clusters, their number a lag,
// and their durations.
void SumsWriter::ShareOutLosses(Database* database) const {
  for (int64_t cause : causes_) {
    auto lost = database->Use(
        "SELECT total(weighted_reports) FROM loss_sums WHERE cause = ? AND reason != 'not-sampled'");
    lost.Bind(cause);
    if (!lost.Step() || (lost.Real(0) == 0 && !HasShares(database, cause))) continue;
    database
        ->Use(
            "UPDATE cause_reports SET lost_reports = min(?3 * reports, ?2 * reports"
            " / (SELECT max(reports, 1.0) FROM cause_reports WHERE cause = ?1 AND cluster = 0))"
            " WHERE cause = ?1")
        .Bind(cause, lost.Real(0), kMostLostPerReport)
        .Run();
    database
        ->Use(
            "UPDATE cluster_sums SET (lost_reports, estimated_hang_ns) = (SELECT total(lost.lost_reports),"
            " weighted_hang_ns + total(lost.lost_reports) * hang_ns / max(cluster_sums.reports, 1)"
            " FROM cause_reports AS lost WHERE lost.cluster = cluster_sums.cluster)"
            " WHERE segment = 0 AND day = 0"
            " AND cluster IN (SELECT cluster FROM cause_reports WHERE cause = ?1)")
        .Bind(cause)
        .Run();
  }
}

}  // namespace lagwatch::collector
