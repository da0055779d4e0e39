// SPDX-License-Identifier: Apache-2.0
#include "collector/store/sqlite/usage_sums.h"

#include <algorithm>

#include "collector/store/records.h"

namespace lagwatch::collector {

void AddToUsageSums(Database* database, const report::Usage& usage) {
  const auto end_wall_ms = static_cast<int64_t>(std::min<uint64_t>(usage.end_wall_ms, INT64_MAX));
  database
      ->Use(
          "INSERT INTO usage_sums (day, app, version, watched_ns) VALUES (?, ?, ?, ?)"
          " ON CONFLICT DO UPDATE SET watched_ns = watched_ns + excluded.watched_ns")
      .Bind(end_wall_ms / kMsPerDay, usage.app, usage.app_version, WatchedNsOf(usage))
      .Run();
}

double ReadWatchedNs(Database* database, const ReportFilter& filter) {
  Statement row = database->Use(
      "SELECT total(watched_ns) FROM usage_sums WHERE day BETWEEN ?1 AND ?2"
      " AND (?3 = '' OR app = ?3) AND (?4 = '' OR version = ?4)");
  row.Bind(filter.first_day.value_or(0), filter.last_day.value_or(INT64_MAX), filter.app, filter.version);
  row.Step();
  return row.Real(0);
}

std::vector<WatchedVersion> ReadWatchedVersions(Database* database, const ReportFilter& filter) {
  std::vector<WatchedVersion> versions;
  Statement rows = database->Use(
      "SELECT app, version, total(watched_ns), min(day), max(day) FROM usage_sums WHERE day BETWEEN ?1 AND ?2"
      " AND (?3 = '' OR app = ?3) AND (?4 = '' OR version = ?4) GROUP BY app, version ORDER BY app, version");
  rows.Bind(filter.first_day.value_or(0), filter.last_day.value_or(INT64_MAX), filter.app, filter.version);
  while (rows.Step())
    versions.push_back({rows.Text(0), rows.Text(1), rows.Real(2), rows.Int(3), rows.Int(4)});
  return versions;
}

}  // namespace lagwatch::collector
