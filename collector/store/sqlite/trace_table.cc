// SPDX-License-Identifier: Apache-2.0
#include "collector/store/sqlite/trace_table.h"

#include <algorithm>

#include "collector/store/sqlite/report_reader.h"

namespace lagwatch::collector {
namespace {

#define LAGWATCH_TRACE                                                                                \
  "traces.id, session_id, report_id, lag_id, app, version, user, begin_wall_ms, duration_ns, reason," \
  " size_bytes, sample_rate_ppm, cause"

// The columns of LAGWATCH_TRACE.
TraceRow ReadTraceRow(const Statement& row) {
  return {.id = ReadUuid(row, 0),
          .session_id = ReadUuid(row, 1),
          .report_id = ReadUuid(row, 2),
          .hang_id = ReadUuid(row, 3),
          .app = row.Text(4),
          .version = row.Text(5),
          .user = row.Text(6),
          .begin_wall_ms = row.Int(7),
          .duration_ns = row.Int(8),
          .reason = row.Text(9),
          .size_bytes = row.Int(10),
          .sample_rate_ppm = row.Int(11),
          .cause = row.Int(12)};
}

}  // namespace

bool InsertTrace(Database* database, const NewTrace& added, int64_t sender) {
  const TraceRow& row = added.row;
  database
      ->Use(
          R"sql(
            INSERT OR IGNORE INTO traces (id, session_id, report_id, lag_id, app, version, user,
              begin_wall_ms, duration_ns, reason, size_bytes, sample_rate_ppm, cause, sender)
            VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
          )sql")
      .Bind(Blob{row.id.as_bytes()}, Blob{row.session_id.as_bytes()}, Blob{row.report_id.as_bytes()},
            Blob{row.hang_id.as_bytes()}, row.app, row.version, row.user, row.begin_wall_ms, row.duration_ns,
            row.reason, row.size_bytes, row.sample_rate_ppm, row.cause, sender)
      .Run();
  if (database->changes() == 0) return false;
  database->Use("INSERT INTO packed_traces (row, trace) VALUES (?, ?)")
      .Bind(database->last_row(), Blob{added.trace})
      .Run();
  return true;
}

int64_t RemoveTraces(Database* database, const base::Uuid& end, int64_t limit) {
  std::vector<int64_t> removed;
  {
    Statement rows = database->Use("SELECT row FROM traces WHERE id < ? ORDER BY id LIMIT ?");
    rows.Bind(Blob{end.as_bytes()}, limit);
    while (rows.Step()) removed.push_back(rows.Int(0));
  }
  for (const int64_t row : removed) {
    database->Use("DELETE FROM packed_traces WHERE row = ?").Bind(row).Run();
    database->Use("DELETE FROM traces WHERE row = ?").Bind(row).Run();
  }
  return static_cast<int64_t>(removed.size());
}

std::vector<TraceRow> ReadTracesOf(Database* database, std::span<const base::Uuid> report_ids) {
  std::vector<TraceRow> traces;
  for (const base::Uuid& id : report_ids) {
    Statement rows = database->Use("SELECT " LAGWATCH_TRACE " FROM traces WHERE report_id = ? ORDER BY id");
    rows.Bind(Blob{id.as_bytes()});
    while (rows.Step()) traces.push_back(ReadTraceRow(rows));
  }
  std::ranges::sort(traces, {}, [](const TraceRow& trace) { return trace.id.bytes; });
  return traces;
}

std::vector<TraceRow> ListTracesIn(Database* database, const ReportFilter& filter, int64_t limit,
                                   const std::optional<base::Uuid>& before) {
  base::Uuid end;
  end.bytes.fill(0xff);
  const base::Uuid beyond = before.value_or(end);
  Statement rows = database->Use("SELECT " LAGWATCH_TRACE
                                 R"sql(
                                   FROM traces
                                   WHERE id < ?1 AND (?2 = '' OR app = ?2) AND (?3 = '' OR version = ?3)
                                     AND (?4 = '' OR user = ?4)
                                   ORDER BY id DESC
                                   LIMIT ?5
                                 )sql");
  rows.Bind(Blob{beyond.as_bytes()}, filter.app, filter.version, filter.user, limit);
  std::vector<TraceRow> traces;
  while (rows.Step()) traces.push_back(ReadTraceRow(rows));
  return traces;
}

std::optional<StoredTrace> ReadTrace(Database* database, const base::Uuid& id) {
  Statement row = database->Use("SELECT " LAGWATCH_TRACE
                                ", trace FROM traces JOIN packed_traces USING (row) WHERE traces.id = ?");
  row.Bind(Blob{id.as_bytes()});
  if (!row.Step()) return std::nullopt;
  return StoredTrace{ReadTraceRow(row), row.Bytes(13)};
}

}  // namespace lagwatch::collector
