// SPDX-License-Identifier: Apache-2.0
// A report's entry in lists, and the table of its columns. From this table come what both stores write and
// read, ClickHouse's table of reports, the columns that SQLite's lacks, and a report's header in JSON.
// Context: background.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <tuple>

#include "base/uuid.h"
#include "collector/store/rows/column.h"
#include "report/format/report.h"

namespace lagwatch::collector {

// Numbers from clients are cut to int64_t.
struct ReportRow {
  base::Uuid id;
  base::Uuid hang_id;
  base::Uuid session_id;
  int64_t ordinal = 0;
  std::string app;
  std::string version;
  std::string user;
  std::string kind;
  std::string verdict;
  std::string loop;
  std::string tag;
  std::string os;
  std::string machine;
  int64_t pid = 0;
  int64_t tid = 0;
  int64_t threshold_ms = 0;
  int64_t start_wall_ms = 0;
  int64_t elapsed_ns = 0;
  int64_t cpu_window_ns = 0;
  int64_t cpu_thread_ns = 0;
  int64_t cpu_process_ns = 0;
  std::string level1_key;
  std::string level2_key;
  std::optional<int64_t> duration_ns;  // of the whole hang; absent until its end is known
  int64_t hang_ns = 0;                 // its part of the hang (policies/hang_account.h)
  bool is_lead = false;                // the hang is counted at this report
  int64_t sample_rate_ppm = 0;         // of users, its own among them; 0: all
  int64_t cause = 0;                   // 0 when not known
  std::string distribution = {};       // of the system, as os-release(5) names it; empty if not known
  double capped_ns = 0;  // hang time, with its weight, that does not count; SQLite's store alone knows it
};

// The duration of its hang: measured, or, if its end is unknown, its age when it was last reported.
inline int64_t HangDurationNs(const ReportRow& report) {
  return report.duration_ns.value_or(report.elapsed_ns);
}

namespace internal {

// A hang's first report gives the hang its id.
inline base::Uuid HangIdOf(const report::Report& report) {
  return report.hang_id == base::Uuid{} ? report.id : report.hang_id;
}
inline std::string_view KindOf(const report::Report& report) { return policies::HangKindName(report.kind); }
inline std::string_view VerdictOf(const report::Report& report) {
  return policies::VerdictName(report.verdict.word);
}

}  // namespace internal

// ClickHouse's rows have this order.
inline constexpr auto kReportColumns = [] {
  using enum JsonForm;
  using enum ColumnPlace;
  using report::Report;
  return std::tuple(
      Column("id", &ReportRow::id, &Report::id, {"id", kValue}),
      Column("lag_id", &ReportRow::hang_id, &internal::HangIdOf, {"hang_id", kValue}),
      Column("session_id", &ReportRow::session_id, &Report::session_id, {"session_id", kValue}),
      Column("ordinal", &ReportRow::ordinal, &Report::ordinal, {"ordinal", kValue}),
      Column("app", &ReportRow::app, &Report::app, {"app", kValue}, kSegments),
      Column("version", &ReportRow::version, &Report::app_version, {"version", kValue}, kSegments),
      Column("user", &ReportRow::user, &Report::user, {"user", kValue}),
      Column("kind", &ReportRow::kind, &internal::KindOf, {"kind", kValue}, kSegments),
      Column("verdict", &ReportRow::verdict, &internal::VerdictOf, {}, kSegments),
      Column("loop", &ReportRow::loop, &Report::loop, {"loop", kValue}, kSegments),
      Column("tag", &ReportRow::tag, &Report::tag, {"tag", kValue}),
      Column("os", &ReportRow::os, &Report::os, {"os", kValue}, kSegments),
      Column("machine", &ReportRow::machine, &Report::machine, {"machine", kValue}),
      Column("pid", &ReportRow::pid, &Report::pid, {"pid", kValue}),
      Column("tid", &ReportRow::tid, &Report::tid, {"tid", kValue}),
      Column("threshold_ms", &ReportRow::threshold_ms, &Report::threshold_ms, {"threshold_ms", kValue}),
      Column("start_wall_ms", &ReportRow::start_wall_ms, &Report::start_wall_ms, {"start_wall_ms", kValue}),
      Column("elapsed_ns", &ReportRow::elapsed_ns, &Report::elapsed_ns, {"elapsed_ms", kMs}),
      Column("cpu_window_ns", &ReportRow::cpu_window_ns, &Report::cpu_window_ns, {"window_ms", kMs, "cpu"}),
      Column("cpu_thread_ns", &ReportRow::cpu_thread_ns, &Report::cpu_thread_ns, {"thread_ms", kMs, "cpu"}),
      Column("cpu_process_ns", &ReportRow::cpu_process_ns, &Report::cpu_process_ns,
             {"process_ms", kMs, "cpu"}),
      Column("level1", &ReportRow::level1_key, NoSource(), {"level1", kValue, "cluster"}, kLevel1),
      Column("level2", &ReportRow::level2_key, NoSource(), {"level2", kValue, "cluster"}, kLevel2),
      Column("duration_ns", &ReportRow::duration_ns, NoSource(), {}, kAccount),
      Column("hang_ns", &ReportRow::hang_ns, NoSource(), {}, kAccount),
      Column("is_lead", &ReportRow::is_lead, NoSource(), {}, kAccount),
      Column("sample_rate_ppm", &ReportRow::sample_rate_ppm, &Report::sample_rate_ppm,
             {"sample_rate_ppm", kNullIfZero}),
      Column("cause", &ReportRow::cause, &Report::cause, {"cause_key", kCauseKey}),
      Column("distribution", &ReportRow::distribution, &Report::distribution, {"distribution", kValue}));
}();

}  // namespace lagwatch::collector
