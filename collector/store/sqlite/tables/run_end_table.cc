// SPDX-License-Identifier: Apache-2.0
#include "collector/store/sqlite/tables/run_end_table.h"

#include <string>

#include "collector/store/sqlite/database/columns.h"

namespace lagwatch::collector {

// A run that ended in no hang has no report: NULL, as the index and the searches for killed runs need it.
bool InsertRunEnd(Database* database, const report::RunEnd& end, int64_t sender) {
  database
      ->Use(
          R"sql(
            INSERT OR IGNORE INTO run_ends (session_id, reason, signal, report_id, lag_ns, loop,
              run_start_wall_ms, last_seen_wall_ms, scene, app, version, user, sender)
            VALUES (?, ?, ?, NULLIF(?, x''), ?, ?, ?, ?, ?, ?, ?, ?, ?)
          )sql")
      .Bind(end.session_id, policies::ExitReasonName(end.reason), int64_t{end.signal},
            Blob{end.report_id == base::Uuid{} ? "" : end.report_id.as_bytes()}, ToSigned(end.hang_ns),
            end.loop, ToSigned(end.run_start_wall_ms), ToSigned(end.last_seen_wall_ms), end.scene, end.app,
            end.app_version, end.user, sender)
      .Run();
  return database->changes() != 0;
}

std::vector<RunEndRow> ReadRunEnds(Database* database, std::span<const base::Uuid> session_ids) {
  static const std::string sql =
      "SELECT " + SelectedColumns("run_ends", kRunEndColumns) + " FROM run_ends WHERE session_id = ?";
  std::vector<RunEndRow> ends;
  for (const base::Uuid& session_id : session_ids) {
    Statement row = database->Use(sql.c_str());
    row.Bind(session_id);
    if (row.Step()) ends.push_back(ReadRecord<RunEndRow>(row, kRunEndColumns));
  }
  return ends;
}

std::vector<ExitCount> CountExits(Database* database, const ReportFilter& filter) {
  std::vector<ExitCount> counts;
  Statement rows = database->Use(
      R"sql(
        SELECT app, version, reason, count(*)
        FROM run_ends
        WHERE (?1 = '' OR app = ?1) AND (?2 = '' OR version = ?2)
        GROUP BY app, version, reason
      )sql");
  rows.Bind(filter.app, filter.version);
  while (rows.Step()) counts.push_back({rows.Text(0), rows.Text(1), rows.Text(2), rows.Int(3)});
  return counts;
}

}  // namespace lagwatch::collector
