// SPDX-License-Identifier: Apache-2.0
// The end of a run, and the table of its columns in both stores. Context: background.
#pragma once

#include <cstdint>
#include <string>
#include <tuple>

#include "base/uuid.h"
#include "collector/store/rows/column.h"
#include "policies/exit_reason.h"
#include "report/format/report.h"

namespace lagwatch::collector {

// By its session.
struct RunEndRow {
  base::Uuid session_id;
  std::string reason;
  int64_t signal = 0;
  base::Uuid report_id;  // zero when in no hang
  int64_t hang_ns = 0;
  std::string loop;
  int64_t run_start_wall_ms = 0;
  int64_t last_seen_wall_ms = 0;
  std::string scene;
  std::string app;
  std::string version;
  std::string user;
};

// ClickHouse's rows have this order.
inline constexpr auto kRunEndColumns = [] {
  using report::RunEnd;
  return std::tuple(
      Column("session_id", &RunEndRow::session_id, &RunEnd::session_id),
      Column("reason", &RunEndRow::reason,
             [](const RunEnd& end) { return policies::ExitReasonName(end.reason); }),
      Column("signal", &RunEndRow::signal, &RunEnd::signal),
      Column("report_id", &RunEndRow::report_id, &RunEnd::report_id),
      Column("lag_ns", &RunEndRow::hang_ns, [](const RunEnd& end) { return ToSigned(end.hang_ns); }),
      Column("loop", &RunEndRow::loop, &RunEnd::loop),
      Column("run_start_wall_ms", &RunEndRow::run_start_wall_ms,
             [](const RunEnd& end) { return ToSigned(end.run_start_wall_ms); }),
      Column("last_seen_wall_ms", &RunEndRow::last_seen_wall_ms,
             [](const RunEnd& end) { return ToSigned(end.last_seen_wall_ms); }),
      Column("scene", &RunEndRow::scene, &RunEnd::scene), Column("app", &RunEndRow::app, &RunEnd::app),
      Column("version", &RunEndRow::version, &RunEnd::app_version),
      Column("user", &RunEndRow::user, &RunEnd::user));
}();

}  // namespace lagwatch::collector
