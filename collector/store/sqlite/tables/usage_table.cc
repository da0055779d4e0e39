// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <string>

#include "collector/store/sqlite/tables/record_tables.h"

namespace lagwatch::collector {
namespace {

// Zero, apart from rounding errors of the sum.
bool IsNone(double watched_ns) { return watched_ns < 1000; }

void TakeOutOfSums(Database* database, int64_t end_wall_ms, const std::string& app,
                   const std::string& version, double watched_ns) {
  const int64_t day = end_wall_ms / kMsPerDay;
  Statement left = database->Use(
      R"sql(
        UPDATE usage_sums SET watched_ns = max(watched_ns - ?4, 0.0)
        WHERE day = ?1 AND app = ?2 AND version = ?3
        RETURNING watched_ns
      )sql");
  left.Bind(day, app, version, watched_ns);
  const bool may_be_empty = left.Step() && IsNone(left.Real(0));
  left.Run();
  if (!may_be_empty) return;
  database
      ->Use(
          R"sql(
            DELETE FROM usage_sums
            WHERE day = ?1 AND app = ?2 AND version = ?3 AND NOT EXISTS (
              SELECT 1 FROM usage WHERE app = ?2 AND version = ?3 AND end_wall_ms / 86400000 = ?1
            )
          )sql")
      .Bind(day, app, version)
      .Run();
}

// The beginning of the filter's days.
int64_t FirstMsOf(const ReportFilter& filter) {
  return std::min(filter.first_day.value_or(0), INT64_MAX / kMsPerDay) * kMsPerDay;
}

}  // namespace

bool InsertUsage(Database* database, const NewUsage& added, int64_t sender) {
  const report::Usage& usage = added.usage;
  database
      ->Use(
          R"sql(
            INSERT OR IGNORE INTO usage (id, session_id, app, version, user, begin_wall_ms, end_wall_ms,
              payload, sender)
            VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
          )sql")
      .Bind(usage.id, usage.session_id, usage.app, usage.app_version, usage.user,
            ToSigned(usage.begin_wall_ms), ToSigned(usage.end_wall_ms), Blob{added.payload}, sender)
      .Run();
  if (database->changes() == 0) return false;
  AddToUsageSums(database, usage);
  return true;
}

void AddToUsageSums(Database* database, const report::Usage& usage) {
  const int64_t end_wall_ms = ToSigned(usage.end_wall_ms);
  database
      ->Use(
          R"sql(
            INSERT INTO usage_sums (day, app, version, watched_ns)
            VALUES (?, ?, ?, ?)
            ON CONFLICT DO UPDATE SET watched_ns = watched_ns + excluded.watched_ns
          )sql")
      .Bind(end_wall_ms / kMsPerDay, usage.app, usage.app_version, WatchedNsOf(usage))
      .Run();
}

void RemoveUsage(Database* database, std::span<const int64_t> rows) {
  for (const int64_t row : rows) {
    int64_t end_wall_ms = 0;
    std::string app, version, payload;
    {
      Statement removed =
          database->Use("DELETE FROM usage WHERE rowid = ? RETURNING end_wall_ms, app, version, payload");
      removed.Bind(row);
      if (!removed.Step()) continue;
      end_wall_ms = removed.Int(0);
      app = removed.Text(1);
      version = removed.Text(2);
      payload = removed.Bytes(3);
      removed.Run();
    }
    const auto usage = report::DecodeUsage(payload);
    TakeOutOfSums(database, end_wall_ms, app, version, usage.ok() ? WatchedNsOf(*usage) : 0);
  }
}

void ReadEachUsage(Database* database, const ReportFilter& filter,
                   const std::function<void(std::string_view payload)>& visit) {
  Statement rows = database->Use(
      R"sql(
        SELECT payload
        FROM usage
        WHERE (?1 = '' OR app = ?1) AND (?2 = '' OR version = ?2) AND (?3 = '' OR user = ?3)
          AND end_wall_ms >= ?4
      )sql");
  rows.Bind(filter.app, filter.version, filter.user, FirstMsOf(filter));
  while (rows.Step()) visit(rows.Bytes(0));
}

double ReadWatchedNs(Database* database, const ReportFilter& filter) {
  Statement row = database->Use(
      R"sql(
        SELECT total(watched_ns)
        FROM usage_sums
        WHERE day BETWEEN ?1 AND ?2 AND (?3 = '' OR app = ?3) AND (?4 = '' OR version = ?4)
      )sql");
  row.Bind(filter.first_day.value_or(0), filter.last_day.value_or(INT64_MAX), filter.app, filter.version);
  row.Step();
  return row.Real(0);
}

std::vector<WatchedVersion> ReadWatchedVersions(Database* database, const ReportFilter& filter) {
  Statement rows = database->Use(
      R"sql(
        SELECT app, version, total(watched_ns), min(day), max(day)
        FROM usage_sums
        WHERE day BETWEEN ?1 AND ?2 AND (?3 = '' OR app = ?3) AND (?4 = '' OR version = ?4)
        GROUP BY app, version
        ORDER BY app, version
      )sql");
  rows.Bind(filter.first_day.value_or(0), filter.last_day.value_or(INT64_MAX), filter.app, filter.version);
  return rows.All([](const Statement& row) {
    return WatchedVersion{row.Text(0), row.Text(1), row.Real(2), row.Int(3), row.Int(4)};
  });
}

}  // namespace lagwatch::collector
