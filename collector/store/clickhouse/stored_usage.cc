// SPDX-License-Identifier: Apache-2.0
// The use of programs in the store in ClickHouse: watched time, ends of runs, frames.
#include <algorithm>
#include <map>
#include <string>
#include <utility>

#include "collector/store/clickhouse/clickhouse_store.h"
#include "collector/store/clickhouse/server/columns.h"
#include "collector/store/clickhouse/server/conditions.h"
#include "collector/store/read_rows.h"

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

std::string DatesOf(const std::vector<HourRange>& days) {
  std::string dates;
  for (const HourRange& day : days) dates += (dates.empty() ? "" : ", ") + DateOf(day.first / 24);
  return dates;
}

}  // namespace

Result<double> ClickHouseStore::WatchedNs(const ReportFilter& filter) {
  const auto versions = LAGWATCH_TRY(WatchedVersions(filter));
  double watched_ns = 0;
  for (const WatchedVersion& version : versions) watched_ns += version.watched_ns;
  return watched_ns;
}

Result<std::vector<WatchedVersion>> ClickHouseStore::WatchedVersions(const ReportFilter& filter) {
  constexpr char kColumns[] = "), toInt64(min(day)), toInt64(max(day)) FROM ";
  constexpr char kGroups[] = " GROUP BY app, version";
  std::map<std::pair<std::string, std::string>, WatchedVersion> versions;
  const auto add = [&](const Row& row) {
    const WatchedVersion part{row.Text(0), row.Text(1), row.Real(2), row.Int(3), row.Int(4)};
    const auto [known, is_new] = versions.try_emplace({part.app, part.version}, part);
    if (is_new) return;
    known->second.watched_ns += part.watched_ns;
    known->second.first_day = std::min(known->second.first_day, part.first_day);
    known->second.last_day = std::max(known->second.last_day, part.last_day);
  };
  return Guarded([&] {
    const auto plan = SumsPlan::OfUsage(*units_.Get(), filter);
    if (plan && !plan->units.empty()) {
      connection_.Select("SELECT app, version, sum(hang_ns" + std::string(kColumns) + schema_.All(kDaySums) +
                             " WHERE unit IN (" + Listed(plan->units) +
                             ") AND scope = " + std::to_string(static_cast<int64_t>(SumScope::kWatched)) +
                             " AND " + OfProgram(filter) + kGroups,
                         "ssdii", add);
    }
    if (!plan || !plan->others.empty()) {
      connection_.Select("SELECT app, version, sum(toFloat64(watched_ns)" + std::string(kColumns) +
                             "(SELECT app, version, watched_ns, day FROM " + schema_.All(kUsage) + " WHERE " +
                             OfProgram(filter) +
                             (plan ? " AND day IN (" + DatesOf(plan->others) + ")" : OfDays(filter)) + kOnce +
                             ")" + kGroups,
                         "ssdii", add);
    }
    std::vector<WatchedVersion> sorted;
    for (auto& [name, version] : versions) sorted.push_back(std::move(version));
    return sorted;
  });
}

Result<std::vector<RunEndRow>> ClickHouseStore::RunEndsOf(std::span<const base::Uuid> session_ids) {
  if (session_ids.empty()) return std::vector<RunEndRow>();
  const ExternalTable external = ExternalTable::OfIds(session_ids);
  return Guarded([&] {
    return connection_.All(
        "SELECT " + ColumnNames(kRunEndColumns) + " FROM " + schema_.All(kRunEnds) +
            " WHERE session_id IN (SELECT id FROM ids)" + kOnceOfRun,
        ColumnKinds(kRunEndColumns),
        [](const Row& row) { return ReadRecord<RunEndRow>(row, kRunEndColumns); }, &external);
  });
}

Result<std::vector<ExitCount>> ClickHouseStore::CountExits(const ReportFilter& filter) {
  return Guarded([&] {
    return connection_.All(
        "SELECT app, version, reason, toInt64(count()) FROM (SELECT app, version, reason FROM " +
            schema_.All(kRunEnds) + " WHERE " + OfProgram(filter) + kOnceOfRun +
            ") GROUP BY app, version, reason ORDER BY app, version, reason",
        "sssi", [](const Row& row) {
          return ExitCount{row.Text(0), row.Text(1), row.Text(2), row.Int(3)};
        });
  });
}

Status ClickHouseStore::ForEachUsage(const ReportFilter& filter,
                                     const std::function<void(std::string_view payload)>& visit) {
  const std::string of_user = filter.user.empty() ? "" : " AND user = " + SqlText(filter.user);
  return Guarded([&] {
    connection_.Select("SELECT payload FROM " + schema_.All(kUsage) + " WHERE " + OfProgram(filter) +
                           of_user + OfDays({.first_day = filter.first_day}) + kOnce,
                       "s", [&](const Row& row) { visit(row.Bytes(0)); });
  });
}

Result<std::vector<FrameSummary>> ClickHouseStore::Frames(const ReportFilter& filter, int64_t limit) {
  // As floating point, which no client can make overflow.
  std::string sums;
  for (const char* column : kFrameColumns)
    sums += ", sum(toFloat64(" + std::string(column) + ")) AS sum_" + column;
  return Guarded([&] {
    return connection_.All(
        "SELECT app, version, loop, scene, toInt64(count()), toInt64(uniqExactIf(user, user != '')),"
        " max(begin_wall_ms + intDiv(duration_ns, 1000000)), sum(toFloat64(refresh_interval_ns) * frames)" +
            sums + " FROM (SELECT * FROM " + schema_.All(kFrames) + " WHERE " + OfProgram(filter) +
            " ORDER BY id, ver DESC LIMIT 1 BY id) GROUP BY app, version, loop, scene"
            " ORDER BY sum_dropped DESC, sum_frames DESC, app, version, loop, scene" +
            " LIMIT " + std::to_string(limit),
        "ssssiiidddddddddddddd", [](const Row& row) {
          const auto read = [&](int column) { return WholeNumber(row.Real(static_cast<size_t>(column))); };
          const int64_t refresh_ns = WholeNumber(row.Real(7) / std::max(row.Real(8), 1.0));
          return ReadFrameSummary(row, refresh_ns, read);
        });
  });
}

Status ClickHouseStore::ForEachUnknownRecord(
    const std::function<void(const report::OwnedRecord& record)>& visit) {
  return Guarded([&] {
    connection_.Select("SELECT type, payload FROM " + schema_.All(kUnknown) +
                           " ORDER BY received_wall_ms, type, payload LIMIT 1 BY type, payload",
                       "is", [&](const Row& row) {
                         visit({static_cast<report::RecordType>(row.Int(0)), row.Text(1)});
                       });
  });
}

}  // namespace lagwatch::collector
