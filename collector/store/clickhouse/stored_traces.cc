// SPDX-License-Identifier: Apache-2.0
// Traces of the store in ClickHouse, each read once.
#include <string>

#include "collector/store/clickhouse/clickhouse_store.h"
#include "collector/store/clickhouse/server/columns.h"
#include "collector/store/clickhouse/server/conditions.h"

namespace lagwatch::collector {
namespace {

std::string Select(const std::string& rest) { return "SELECT " + ColumnNames(kTraceColumns) + rest; }

TraceRow ReadRow(const Row& row) { return ReadRecord<TraceRow>(row, kTraceColumns); }

}  // namespace

// A trace is made with its report, or as long after it as a hang may last.
Result<std::vector<TraceRow>> ClickHouseStore::TracesOf(std::span<const base::Uuid> report_ids) {
  if (report_ids.empty()) return std::vector<TraceRow>();
  const ExternalTable external = ExternalTable::OfIds(report_ids);
  return Guarded([&] {
    return connection_.All(
        Select(" FROM " + schema_.All(kTraces) + " WHERE report_id IN (SELECT id FROM ids) AND " +
               DaysAround(report_ids) + " ORDER BY id, ver DESC LIMIT 1 BY id"),
        ColumnKinds(kTraceColumns), ReadRow, &external);
  });
}

Result<std::vector<TraceRow>> ClickHouseStore::ListTraces(const ReportFilter& filter, int64_t limit,
                                                          const std::optional<base::Uuid>& before) {
  std::string where = OfProgram(filter) + " AND reason != " + SqlText(report::kProbeReason);
  if (!filter.user.empty()) where += " AND user = " + SqlText(filter.user);
  if (before) where += " AND id < " + SqlId(*before);
  return Guarded([&] {
    return connection_.All(Select(" FROM " + schema_.All(kTraces) + " WHERE " + where +
                                  " ORDER BY id DESC, ver DESC LIMIT 1 BY id LIMIT " + std::to_string(limit)),
                           ColumnKinds(kTraceColumns), ReadRow);
  });
}

Result<std::optional<StoredTrace>> ClickHouseStore::FindTrace(const base::Uuid& id) {
  return Guarded([&] {
    std::optional<StoredTrace> found;
    connection_.Select(Select(", trace FROM " + schema_.All(kTraces) + " WHERE id = " + SqlId(id) + " AND " +
                              DaysOf(std::span(&id, 1)) + " ORDER BY ver DESC LIMIT 1"),
                       ColumnKinds(kTraceColumns) + "s", [&](const Row& row) {
                         found = StoredTrace{ReadRow(row), row.Text(kColumnCount<decltype(kTraceColumns)>)};
                       });
    return found;
  });
}

Result<std::vector<StoredTrace>> ClickHouseStore::ProbeResults(const ReportFilter& filter, int64_t script_key,
                                                               int64_t limit) {
  std::string where = OfProgram(filter) + " AND reason = " + SqlText(report::kProbeReason);
  if (script_key != 0) where += " AND cause = " + std::to_string(script_key);
  if (!filter.user.empty()) where += " AND user = " + SqlText(filter.user);
  if (filter.first_day) where += " AND day >= " + DateOf(*filter.first_day);
  return Guarded([&] {
    std::vector<StoredTrace> results;
    connection_.Select(Select(", trace FROM " + schema_.All(kTraces) + " WHERE " + where +
                              " ORDER BY id DESC, ver DESC LIMIT 1 BY id LIMIT " + std::to_string(limit)),
                       ColumnKinds(kTraceColumns) + "s", [&](const Row& row) {
                         results.push_back({ReadRow(row), row.Text(kColumnCount<decltype(kTraceColumns)>)});
                       });
    return results;
  });
}

}  // namespace lagwatch::collector
