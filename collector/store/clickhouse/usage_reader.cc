// SPDX-License-Identifier: Apache-2.0
#include "collector/store/clickhouse/usage_reader.h"

#include <string>

#include "collector/store/clickhouse/conditions.h"

namespace lagwatch::collector {
namespace {

constexpr char kOnce[] = " ORDER BY id, ver DESC LIMIT 1 BY id";

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

void UsageReader::ForEach(const ReportFilter& filter,
                          const std::function<void(std::string_view payload)>& visit) {
  const std::string of_user = filter.user.empty() ? "" : " AND user = " + SqlText(filter.user);
  connection_->Select("SELECT payload FROM " + schema_->All(kUsage) + " WHERE " + OfProgram(filter) +
                          of_user + OfDays({.first_day = filter.first_day}) + kOnce,
                      "s", [&](const Row& row) { visit(row.Bytes(0)); });
}

}  // namespace lagwatch::collector
