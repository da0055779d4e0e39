// SPDX-License-Identifier: Apache-2.0
#include "collector/store/sqlite/loss_sharer.h"

#include <algorithm>

#include "collector/store/loss_weights.h"

namespace lagwatch::collector {
namespace {

constexpr size_t kMostWideCauses = 100'000;

}  // namespace

void LossSharer::ShareOut(int64_t cause, Database* database) {
  const double lost_reports = LostReports(cause, database);
  // Cluster 0 is the first.
  std::vector<Share> shares = ReadShares(cause, 1, database);
  if (shares.empty() || (lost_reports == 0 && shares.front().lost_reports == 0)) return;
  shares = ReadShares(cause, kMostClusters + 2, database);
  if (shares.size() > kMostClusters + 1) {
    TakeBack(cause, database);
    shares.resize(1);
  } else {
    wide_causes_.erase(cause);
  }
  const double received = std::max(1.0, static_cast<double>(shares.front().reports));
  const double lost_per_report = std::min(lost_reports / received, kMostLostPerReport);
  for (const Share& share : shares)
    Set(cause, share, lost_per_report * static_cast<double>(share.reports), database);
}

// Reads all of a cause's rows, but only once: its clusters have no share from then on.
void LossSharer::TakeBack(int64_t cause, Database* database) {
  if (wide_causes_.contains(cause)) return;
  const std::vector<Share> shares = ReadShares(cause, INT64_MAX, database);
  for (const Share& share : shares) {
    if (share.cluster != 0) Set(cause, share, 0, database);
  }
  if (wide_causes_.size() >= kMostWideCauses) wide_causes_.clear();
  wide_causes_.insert(cause);
}

double LossSharer::LostReports(int64_t cause, Database* database) {
  auto lost = database->Use(
      "SELECT total(weighted_reports) FROM loss_sums WHERE cause = ? AND reason != 'not-sampled'");
  lost.Bind(cause);
  return lost.Step() ? lost.Real(0) : 0;
}

std::vector<LossSharer::Share> LossSharer::ReadShares(int64_t cause, int64_t limit, Database* database) {
  auto rows = database->Use(
      "SELECT cluster, reports, lost_reports FROM cause_reports WHERE cause = ? ORDER BY cluster LIMIT ?");
  rows.Bind(cause, limit);
  return rows.All([](const Statement& row) { return Share{row.Int(0), row.Int(1), row.Real(2)}; });
}

// Adds the difference to the cluster's sum: adding up its causes would read all of them for cluster 0.
void LossSharer::Set(int64_t cause, const Share& share, double lost_reports, Database* database) {
  if (lost_reports == share.lost_reports) return;
  database->Use("UPDATE cause_reports SET lost_reports = ?3 WHERE cause = ?1 AND cluster = ?2")
      .Bind(cause, share.cluster, lost_reports)
      .Run();
  database
      ->Use(
          R"sql(
            UPDATE cluster_sums SET lost_reports = max(lost_reports + ?2, 0.0),
              estimated_hang_ns = weighted_hang_ns + max(lost_reports + ?2, 0.0) * hang_ns /
                max(reports, 1)
            WHERE cluster = ?1 AND segment = 0 AND day = 0
          )sql")
      .Bind(share.cluster, lost_reports - share.lost_reports)
      .Run();
}

void LossSharer::SumUp(int64_t cluster, Database* database) {
  database
      ->Use(
          R"sql(
            UPDATE cluster_sums SET (lost_reports, estimated_hang_ns) = (
              SELECT total(lost.lost_reports),
                weighted_hang_ns + total(lost.lost_reports) * hang_ns / max(cluster_sums.reports, 1)
              FROM cause_reports AS lost
              WHERE lost.cluster = cluster_sums.cluster
            )
            WHERE cluster = ? AND segment = 0 AND day = 0
          )sql")
      .Bind(cluster)
      .Run();
}

}  // namespace lagwatch::collector
