// SPDX-License-Identifier: Apache-2.0
// Sums that are to be made again from the reports, since something was taken out of them.
#include <algorithm>
#include <array>
#include <optional>
#include <utility>
#include <vector>

#include "collector/store/sqlite/report_writer.h"
#include "collector/store/sqlite/stored_share.h"

namespace lagwatch::collector {
namespace {

// A cluster of fewer reports is summed up again when a hang turns out to be of another one. In a larger one
// that hang's users are among many, and the time of adding up would delay uploads.
constexpr int64_t kMostSummedUpAgain = 2000;

}  // namespace

void ReportWriter::NoteShrunk(const ReportPlace& place) {
  for (int64_t cluster : place.clusters)
    database_->Use("INSERT OR IGNORE INTO shrunk_clusters (cluster) VALUES (?)").Bind(cluster).Run();
}

void ReportWriter::NoteShrunkIfSmall(const ReportPlace& place) {
  for (int64_t cluster : place.clusters) {
    database_
        ->Use(
            R"sql(
              INSERT OR IGNORE INTO shrunk_clusters (cluster)
              SELECT ?1
              WHERE NOT EXISTS (
                SELECT 1
                FROM cluster_sums
                WHERE cluster = ?1 AND segment = 0 AND day = 0 AND reports > ?2
              )
            )sql")
        .Bind(cluster, kMostSummedUpAgain)
        .Run();
  }
}

void ReportWriter::NoteTotalsShrunk(const ReportPlace& place) {
  for (const auto& [segment, day] : {std::pair(int64_t{0}, int64_t{0}), std::pair(place.segment, int64_t{0}),
                                     std::pair(int64_t{0}, place.day)}) {
    database_->Use("INSERT OR IGNORE INTO shrunk_totals (segment, day) VALUES (?, ?)")
        .Bind(segment, day)
        .Run();
  }
}

int64_t ReportWriter::Repair(int64_t limit) {
  std::vector<int64_t> clusters;
  {
    auto rows = database_->Use(
        R"sql(
          DELETE FROM shrunk_clusters
          WHERE cluster IN (SELECT cluster FROM shrunk_clusters LIMIT ?)
          RETURNING cluster
        )sql");
    rows.Bind(limit);
    while (rows.Step()) clusters.push_back(rows.Int(0));
  }
  if (clusters.empty()) return RepairTotals(std::min<int64_t>(limit, 1));
  for (int64_t cluster : clusters) RepairCluster(cluster);
  return static_cast<int64_t>(clusters.size());
}

// Those of all reports are added up from clusters of level 1, once these are right. One at a time: there may
// be tens of thousands of clusters.
int64_t ReportWriter::RepairTotals(int64_t limit) {
  std::optional<std::pair<int64_t, int64_t>> total;
  {
    auto row = database_->Use("SELECT segment, day FROM shrunk_totals LIMIT ?");
    row.Bind(limit);
    if (row.Step()) total.emplace(row.Int(0), row.Int(1));
  }
  if (!total) return 0;
  RepairTotal(database_, total->first, total->second);
  database_->Use("DELETE FROM shrunk_totals WHERE segment = ? AND day = ?")
      .Bind(total->first, total->second)
      .Run();
  return 1;
}

void ReportWriter::RepairCluster(int64_t cluster) {
  database_->Use("DELETE FROM cluster_sums WHERE cluster = ?").Bind(cluster).Run();
  database_->Use("DELETE FROM capped_sums WHERE cluster = ?").Bind(cluster).Run();
  for (const char* sql : {LAGWATCH_KNOWN " WHERE level1 = ?", LAGWATCH_KNOWN " WHERE level2 = ?"}) {
    auto rows = database_->Use(sql);
    rows.Bind(cluster);
    while (rows.Step()) {
      const StoredShare known = StoredShare::Read(rows);
      if (IsCounted(known.kind)) sums_.CountIn(cluster, known.place, known.ToContribution());
    }
  }
  database_->Use("DELETE FROM cause_reports WHERE cluster = ? AND reports <= 0").Bind(cluster).Run();
  sums_.NoteRemade(cluster);
}

}  // namespace lagwatch::collector
