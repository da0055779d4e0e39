// SPDX-License-Identifier: Apache-2.0
#include "collector/store/clickhouse/read/trace_reader.h"

#include <string>

#include "collector/store/clickhouse/server/conditions.h"

namespace lagwatch::collector {
namespace {

constexpr char kTraceColumns[] =
    "id, session_id, report_id, lag_id, app, version, user, begin_wall_ms, duration_ns, reason, size_bytes,"
    " sample_rate_ppm, cause";
constexpr char kTraceKinds[] = "uuuusssiisiii";

TraceRow TraceRowOf(const Row& row) {
  return {.id = row.Id(0),
          .session_id = row.Id(1),
          .report_id = row.Id(2),
          .hang_id = row.Id(3),
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

// A trace is made with its report, or as long after it as a hang may last.
std::vector<TraceRow> TraceReader::TracesOf(std::span<const base::Uuid> report_ids) {
  std::vector<TraceRow> traces;
  if (report_ids.empty()) return traces;
  const ExternalTable external = ExternalTable::OfIds(report_ids);
  connection_->Select(
      std::string("SELECT ") + kTraceColumns + " FROM " + schema_->All(kTraces) +
          " WHERE report_id IN (SELECT id FROM ids) AND " + DaysAround(report_ids) +
          " ORDER BY id, ver DESC LIMIT 1 BY id",
      kTraceKinds, [&](const Row& row) { traces.push_back(TraceRowOf(row)); }, &external);
  return traces;
}

std::vector<TraceRow> TraceReader::List(const ReportFilter& filter, int64_t limit,
                                        const std::optional<base::Uuid>& before) {
  std::string where = OfProgram(filter);
  if (!filter.user.empty()) where += " AND user = " + SqlText(filter.user);
  if (before) where += " AND id < " + SqlId(*before);
  std::vector<TraceRow> traces;
  connection_->Select(std::string("SELECT ") + kTraceColumns + " FROM " + schema_->All(kTraces) + " WHERE " +
                          where + " ORDER BY id DESC, ver DESC LIMIT 1 BY id LIMIT " + std::to_string(limit),
                      kTraceKinds, [&](const Row& row) { traces.push_back(TraceRowOf(row)); });
  return traces;
}

std::optional<StoredTrace> TraceReader::Find(const base::Uuid& id) {
  std::optional<StoredTrace> found;
  connection_->Select(std::string("SELECT ") + kTraceColumns + ", trace FROM " + schema_->All(kTraces) +
                          " WHERE id = " + SqlId(id) + " AND " + DaysOf(std::span(&id, 1)) +
                          " ORDER BY ver DESC LIMIT 1",
                      std::string(kTraceKinds) + "s", [&](const Row& row) {
                        found = StoredTrace{TraceRowOf(row), row.Text(13)};
                      });
  return found;
}

}  // namespace lagwatch::collector
