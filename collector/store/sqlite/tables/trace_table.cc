// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <string>

#include "collector/store/sqlite/database/columns.h"
#include "collector/store/sqlite/tables/record_tables.h"

namespace lagwatch::collector {
namespace {

std::string Select(const std::string& rest) {
  return "SELECT " + SelectedColumns("traces", kTraceColumns) + rest;
}

TraceRow ReadTraceRow(const Statement& row) { return ReadRecord<TraceRow>(row, kTraceColumns); }

}  // namespace

bool InsertTrace(Database* database, const NewTrace& added, int64_t sender) {
  static const std::string sql = InsertColumns("INSERT OR IGNORE INTO traces", kTraceColumns, "sender");
  {
    Statement row = database->Use(sql.c_str());
    BindRecord(added.row, kTraceColumns, &row);
    row.Bind(sender).Run();
  }
  if (database->changes() == 0) return false;
  database->Use("INSERT INTO packed_traces (row, trace) VALUES (?, ?)")
      .Bind(database->last_row(), Blob{added.trace})
      .Run();
  return true;
}

int64_t RemoveTraces(Database* database, const base::Uuid& end, int64_t limit) {
  const std::vector<int64_t> removed =
      database->Use("SELECT row FROM traces WHERE id < ? ORDER BY id LIMIT ?")
          .Bind(end, limit)
          .All([](const Statement& row) { return row.Int(0); });
  for (const int64_t row : removed) {
    database->Use("DELETE FROM packed_traces WHERE row = ?").Bind(row).Run();
    database->Use("DELETE FROM traces WHERE row = ?").Bind(row).Run();
  }
  return static_cast<int64_t>(removed.size());
}

std::vector<TraceRow> ReadTracesOf(Database* database, std::span<const base::Uuid> report_ids) {
  static const std::string sql = Select(" FROM traces WHERE report_id = ? ORDER BY id");
  std::vector<TraceRow> traces;
  for (const base::Uuid& id : report_ids) {
    Statement rows = database->Use(sql.c_str());
    rows.Bind(id);
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
  static const std::string sql = Select(R"sql(
    FROM traces
    WHERE id < ?1 AND reason <> 'probe' AND (?2 = '' OR app = ?2) AND (?3 = '' OR version = ?3) AND (?4 = '' OR user = ?4)
    ORDER BY id DESC
    LIMIT ?5
  )sql");
  return database->Use(sql.c_str())
      .Bind(beyond, filter.app, filter.version, filter.user, limit)
      .All(ReadTraceRow);
}

std::optional<StoredTrace> ReadTrace(Database* database, const base::Uuid& id) {
  constexpr int kTraceColumn = kColumnCount<decltype(kTraceColumns)>;
  static const std::string sql =
      Select(", trace FROM traces JOIN packed_traces USING (row) WHERE traces.id = ?");
  Statement row = database->Use(sql.c_str());
  row.Bind(id);
  if (!row.Step()) return std::nullopt;
  return StoredTrace{ReadTraceRow(row), row.Bytes(kTraceColumn)};
}

std::vector<StoredTrace> ReadProbeResults(Database* database, const ReportFilter& filter, int64_t script_key,
                                          int64_t limit) {
  constexpr int kTraceColumn = kColumnCount<decltype(kTraceColumns)>;
  static const std::string sql = Select(R"sql(, trace
    FROM traces JOIN packed_traces USING (row)
    WHERE traces.id >= ?1 AND reason = 'probe' AND (?2 = 0 OR cause = ?2) AND (?3 = '' OR app = ?3)
      AND (?4 = '' OR version = ?4) AND (?5 = '' OR user = ?5)
    ORDER BY traces.id DESC
    LIMIT ?6
  )sql");
  return database->Use(sql.c_str())
      .Bind(FirstIdOf(filter.first_day.value_or(0)), script_key, filter.app, filter.version, filter.user,
            limit)
      .All([](const Statement& row) {
        return StoredTrace{ReadTraceRow(row), row.Bytes(kTraceColumn)};
      });
}

}  // namespace lagwatch::collector
