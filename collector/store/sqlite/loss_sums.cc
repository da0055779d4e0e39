// SPDX-License-Identifier: Apache-2.0
#include "collector/store/sqlite/loss_sums.h"

#include <compare>
#include <cstdint>
#include <set>

namespace lagwatch::collector {
namespace {

struct LossKey {
  int64_t cause = 0;
  std::string reason;
  std::string app;
  std::string version;

  auto operator<=>(const LossKey&) const = default;
};

// From what is left, not by subtraction: a count of a hostile client would have absorbed the others.
void SumUpLosses(Database* database, const LossKey& key) {
  database->Use("DELETE FROM loss_sums WHERE cause = ? AND reason = ? AND app = ? AND version = ?")
      .Bind(key.cause, key.reason, key.app, key.version)
      .Run();
  database
      ->Use(
          "INSERT INTO loss_sums (app, version, reason, cause, reports, weighted_reports)"
          " SELECT app, version, reason, cause, total(count), total(count * iif(sample_rate_ppm = 0"
          " OR reason = 'not-sampled', 1, max(1, 1e6 / sample_rate_ppm))) FROM losses"
          " WHERE cause = ? AND reason = ? AND app = ? AND version = ? GROUP BY cause, reason, app, version")
      .Bind(key.cause, key.reason, key.app, key.version)
      .Run();
}

bool HasLosses(Database* database, int64_t cause) {
  Statement found = database->Use(
      "SELECT 1 FROM loss_sums WHERE cause = ? AND reason != 'not-sampled' AND weighted_reports > 0 LIMIT 1");
  found.Bind(cause);
  return found.Step();
}

// Nothing is left to be shared out among its clusters.
void ForgetLostReports(Database* database, int64_t cause) {
  database->Use("UPDATE cause_reports SET lost_reports = 0 WHERE cause = ?").Bind(cause).Run();
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

}  // namespace

void RemoveLosses(Database* database, std::span<const std::string> ids, ReportWriter* reports) {
  std::set<LossKey> keys;
  for (const std::string& id : ids) {
    Statement rows = database->Use("DELETE FROM losses WHERE id = ? RETURNING cause, reason, app, version");
    rows.Bind(Blob{id});
    while (rows.Step()) keys.insert({rows.Int(0), rows.Text(1), rows.Text(2), rows.Text(3)});
  }
  std::set<int64_t> causes;
  for (const LossKey& key : keys) {
    SumUpLosses(database, key);
    if (key.cause != 0) causes.insert(key.cause);
  }
  for (const int64_t cause : causes) {
    if (HasLosses(database, cause)) {
      reports->NoteLost(cause);
    } else {
      ForgetLostReports(database, cause);
    }
  }
}

}  // namespace lagwatch::collector
