// SPDX-License-Identifier: Apache-2.0
#include <string>

#include "collector/store/sqlite/database/columns.h"
#include "collector/store/sqlite/tables/record_tables.h"

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
  return database
      ->Use(
          R"sql(
        SELECT app, version, reason, count(*)
        FROM run_ends
        WHERE (?1 = '' OR app = ?1) AND (?2 = '' OR version = ?2)
        GROUP BY app, version, reason
      )sql")
      .Bind(filter.app, filter.version)
      .All([](const Statement& row) -> ExitCount {
        return {row.Text(0), row.Text(1), row.Text(2), row.Int(3)};
      });
}

}  // namespace lagwatch::collector
