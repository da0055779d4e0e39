// SPDX-License-Identifier: Apache-2.0
#include "collector/store/sqlite/total_sums.h"

#include <string>

#include "collector/store/sqlite/sums_reader.h"

namespace lagwatch::collector {

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
