// SPDX-License-Identifier: Apache-2.0
// A trace's header, and the table of its columns: what both stores write and read, ClickHouse's table of
// traces, and the header in JSON. Context: background.
#pragma once

#include <cstdint>
#include <string>
#include <tuple>

#include "base/uuid.h"
#include "collector/store/rows/column.h"
#include "report/format/trace_record.h"

namespace lagwatch::collector {

// Numbers from clients are cut to int64_t.
struct TraceRow {
  base::Uuid id;
  base::Uuid session_id;
  base::Uuid report_id;  // zero when it belongs to no report
  base::Uuid hang_id;    // likewise
  std::string app;
  std::string version;
  std::string user;
  int64_t begin_wall_ms = 0;
  int64_t duration_ns = 0;
  std::string reason;
  int64_t size_bytes = 0;  // as it is stored
  int64_t sample_rate_ppm = 0;
  int64_t cause = 0;
};

// ClickHouse's rows have this order.
inline constexpr auto kTraceColumns = [] {
  using enum JsonForm;
  using report::TraceRecord;
  return std::tuple(
      Column("id", &TraceRow::id, &TraceRecord::id, {"id", kValue}),
      Column("session_id", &TraceRow::session_id, &TraceRecord::session_id, {"session_id", kValue}),
      Column("report_id", &TraceRow::report_id, &TraceRecord::report_id, {"report_id", kNullIfZero}),
      Column("lag_id", &TraceRow::hang_id, &TraceRecord::hang_id),
      Column("app", &TraceRow::app, &TraceRecord::app, {"app", kValue}),
      Column("version", &TraceRow::version, &TraceRecord::app_version, {"version", kValue}),
      Column("user", &TraceRow::user, &TraceRecord::user, {"user", kValue}),
      Column("begin_wall_ms", &TraceRow::begin_wall_ms,
             [](const TraceRecord& record) { return ToSigned(record.begin_wall_ms); },
             {"begin_wall_ms", kValue}),
      Column("duration_ns", &TraceRow::duration_ns,
             [](const TraceRecord& record) { return ToSigned(record.duration_ns); }, {"duration_ms", kMs}),
      Column("reason", &TraceRow::reason, &TraceRecord::reason, {"reason", kValue}),
      Column("size_bytes", &TraceRow::size_bytes,
             [](const TraceRecord& record) { return record.trace.size(); }, {"size_bytes", kValue}),
      Column("sample_rate_ppm", &TraceRow::sample_rate_ppm, &TraceRecord::sample_rate_ppm),
      Column("cause", &TraceRow::cause, &TraceRecord::cause));
}();

}  // namespace lagwatch::collector
