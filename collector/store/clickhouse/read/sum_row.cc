// SPDX-License-Identifier: Apache-2.0
#include "collector/store/clickhouse/read/sum_row.h"

#include <algorithm>

#include "collector/store/report_summer.h"

namespace lagwatch::collector {
namespace {

constexpr char kKeyKinds[] = "iississssssi";

SumRow RowAbout(const Row& row) {
  return {.scope = static_cast<SumScope>(row.Int(0)),
          .level = row.Int(1),
          .parent = row.Text(2),
          .cluster = row.Text(3),
          .day = row.Int(4),
          .app = row.Text(5),
          .version = row.Text(6),
          .kind = row.Text(7),
          .verdict = row.Text(8),
          .loop = row.Text(9),
          .os = row.Text(10),
          .cause = row.Int(11),
          .sums = {}};
}

void AppendSums(const CauseSums& sums, std::string_view sketches, RowWriter* rows) {
  rows->Int(sums.reports);
  rows->Int(sums.hangs);
  rows->Real(sums.hang_ns);
  rows->Real(sums.weighted_hangs);
  rows->Real(sums.weighted_hang_ns);
  rows->Int(sums.longest_ns);
  rows->Int(sums.first_seen_ms);
  rows->Int(sums.last_seen_ms);
  rows->Text(sketches);
}

}  // namespace

const char kSumsColumns[] =
    "reports, lags, hang_ns, weighted_lags, weighted_hang_ns, longest_ns, first_seen_ms, last_seen_ms, "
    "sketches";
const char kSumsKinds[] = "iidddiiis";

const char kSumRowColumns[] =
    "scope, level, parent, cluster, day, app, version, kind, verdict, loop, os, cause, reports, lags, "
    "hang_ns, "
    "weighted_lags, weighted_hang_ns, longest_ns, first_seen_ms, last_seen_ms, sketches";
const char kSumRowKinds[] = "iississssssiiidddiiis";

void SumRows::Add(const ReportRow& report) {
  if (!IsCounted(report.kind)) return;
  ++reports_;
  last_day_ = std::max(last_day_, DayOf(report.id));
  for (SumScope scope : {SumScope::kAll, SumScope::kSegment, SumScope::kCause}) {
    if (scope == SumScope::kCause && report.cause == 0) continue;
    AddTo(scope, 0, "", "", report);
    AddTo(scope, 1, "", report.level1_key, report);
    AddTo(scope, 2, report.level1_key, report.level2_key, report);
  }
}

void SumRows::AddUsage(const std::string& app, const std::string& version, int64_t day, int64_t watched_ns) {
  ++reports_;
  last_day_ = std::max(last_day_, day);
  sums_[KeyOf(SumScope::kWatched, 0, "", "", day, {app, version}, 0)].hang_ns +=
      static_cast<double>(watched_ns);
}

void SumRows::AddRow(const Row& row, int64_t day) {
  const SumRow about = RowAbout(row);
  const std::string key =
      KeyOf(about.scope, about.level, about.parent, about.cluster, about.day == 0 ? 0 : day,
            {about.app, about.version, about.kind, about.verdict, about.loop, about.os}, about.cause);
  sums_[key].Add(ReadSums(row, std::string_view(kKeyKinds).size()));
}

void SumRows::CountReports(int64_t reports, int64_t last_day) {
  reports_ += reports;
  last_day_ = std::max(last_day_, last_day);
}

std::string SumRows::KeyOf(SumScope scope, int64_t level, std::string_view parent, std::string_view cluster,
                           int64_t day, const std::array<std::string_view, 6>& segment, int64_t cause) {
  RowWriter key;
  key.Int(static_cast<int64_t>(scope));
  key.Int(level);
  key.Text(parent);
  key.Text(cluster);
  key.Int(day);
  for (std::string_view text : segment) key.Text(text);
  key.Int(cause);
  return key.bytes();
}

void SumRows::AddTo(SumScope scope, int64_t level, std::string_view parent, std::string_view cluster,
                    const ReportRow& report) {
  std::array<std::string_view, 6> segment;
  if (scope == SumScope::kSegment)
    segment = {report.app, report.version, report.kind, report.verdict, report.loop, report.os};
  const bool is_of_cause = scope == SumScope::kCause;
  const std::string key = KeyOf(scope, level, parent, cluster, is_of_cause ? 0 : DayOf(report.id), segment,
                                is_of_cause ? report.cause : 0);
  CauseSums& sums = sums_[key];
  if (is_of_cause) {
    ++sums.reports;
  } else {
    ContributionOf(report).AddTo(&sums, 1);
  }
}

void SumRows::ForEach(const Visit& visit) const {
  for (const auto& [key, sums] : sums_) {
    std::string_view bytes = key;
    Row columns;
    if (!columns.Take(kKeyKinds, &bytes)) continue;
    SumRow row = RowAbout(columns);
    row.sums = sums;
    visit(row);
  }
}

void SumRows::MoveTo(int64_t unit, RowWriter* rows) {
  for (const auto& [key, sums] : sums_) {
    rows->Int(unit);
    rows->Bytes(key);
    AppendSums(sums, EncodeSketches(sums), rows);
  }
  sums_.clear();
}

// `cause` has the last day: `day` stays empty, so that no list takes it for reports.
void AppendState(int64_t unit, const SumState& state, RowWriter* rows) {
  rows->Int(unit);
  rows->Bytes(SumRows::KeyOf(SumScope::kState, 0, "", "", 0, {}, state.last_day));
  CauseSums sums;
  sums.reports = state.reports;
  sums.hangs = state.marks;
  sums.first_seen_ms = state.made_ms;
  sums.last_seen_ms = state.took_ms;
  AppendSums(sums, "", rows);
}

}  // namespace lagwatch::collector
