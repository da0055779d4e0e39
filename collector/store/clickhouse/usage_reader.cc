// SPDX-License-Identifier: Apache-2.0
#include "collector/store/clickhouse/usage_reader.h"

#include <string>

#include "collector/store/clickhouse/conditions.h"

namespace lagwatch::collector {
namespace {

constexpr char kOnce[] = " ORDER BY id, ver DESC LIMIT 1 BY id";
constexpr char kOnceOfRun[] = " ORDER BY session_id, ver DESC LIMIT 1 BY session_id";

std::string OfDays(const ReportFilter& filter) {
  std::string sql;
  if (filter.first_day) sql += " AND day >= " + DateOf(*filter.first_day);
  if (filter.last_day) sql += " AND day <= " + DateOf(*filter.last_day);
  return sql;
}

}  // namespace

double UsageReader::WatchedNs(const ReportFilter& filter) {
  double watched_ns = 0;
  connection_->Select("SELECT sum(toFloat64(watched_ns)) FROM (SELECT watched_ns FROM " +
                          schema_->All(kUsage) + " WHERE " + OfProgram(filter) + OfDays(filter) + kOnce + ")",
                      "d", [&](const Row& row) { watched_ns = row.Real(0); });
  return watched_ns;
}

std::vector<WatchedVersion> UsageReader::WatchedVersions(const ReportFilter& filter) {
  std::vector<WatchedVersion> versions;
  connection_->Select(
      "SELECT app, version, sum(toFloat64(watched_ns)), toInt64(min(day)), toInt64(max(day)) FROM"
      " (SELECT app, version, watched_ns, day FROM " +
          schema_->All(kUsage) + " WHERE " + OfProgram(filter) + OfDays(filter) + kOnce +
          ") GROUP BY app, version ORDER BY app, version",
      "ssdii", [&](const Row& row) {
        versions.push_back({row.Text(0), row.Text(1), row.Real(2), row.Int(3), row.Int(4)});
      });
  return versions;
}

std::vector<RunEndRow> UsageReader::RunEndsOf(std::span<const base::Uuid> session_ids) {
  std::vector<RunEndRow> ends;
  if (session_ids.empty()) return ends;
  const ExternalTable external = ExternalTable::OfIds(session_ids);
  connection_->Select(
      "SELECT session_id, reason, signal, report_id, lag_ns, loop, run_start_wall_ms, last_seen_wall_ms, "
      "scene,"
      " app, version, user FROM " +
          schema_->All(kRunEnds) + " WHERE session_id IN (SELECT id FROM ids)" + kOnceOfRun,
      "usiuisiissss",
      [&](const Row& row) {
        ends.push_back({.session_id = row.Id(0),
                        .reason = row.Text(1),
                        .signal = row.Int(2),
                        .report_id = row.Id(3),
                        .lag_ns = row.Int(4),
                        .loop = row.Text(5),
                        .run_start_wall_ms = row.Int(6),
                        .last_seen_wall_ms = row.Int(7),
                        .scene = row.Text(8),
                        .app = row.Text(9),
                        .version = row.Text(10),
                        .user = row.Text(11)});
      },
      &external);
  return ends;
}

std::vector<ExitCount> UsageReader::CountExits(const ReportFilter& filter) {
  std::vector<ExitCount> counts;
  connection_->Select(
      "SELECT app, version, reason, toInt64(count()) FROM (SELECT app, version, reason FROM " +
          schema_->All(kRunEnds) + " WHERE " + OfProgram(filter) + kOnceOfRun +
          ") GROUP BY app, version, reason ORDER BY app, version, reason",
      "sssi", [&](const Row& row) {
        counts.push_back({row.Text(0), row.Text(1), row.Text(2), row.Int(3)});
      });
  return counts;
}

void UsageReader::ForEach(const ReportFilter& filter,
                          const std::function<void(std::string_view payload)>& visit) {
  const std::string of_user = filter.user.empty() ? "" : " AND user = " + SqlText(filter.user);
  connection_->Select("SELECT payload FROM " + schema_->All(kUsage) + " WHERE " + OfProgram(filter) +
                          of_user + OfDays({.first_day = filter.first_day}) + kOnce,
                      "s", [&](const Row& row) { visit(row.Bytes(0)); });
}

}  // namespace lagwatch::collector
