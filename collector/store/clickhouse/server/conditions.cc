// SPDX-License-Identifier: Apache-2.0
#include "collector/store/clickhouse/server/conditions.h"

#include <algorithm>
#include <utility>

#include "collector/store/clickhouse/server/connection.h"
#include "report/format/report.h"

namespace lagwatch::collector {
namespace {

std::string DaysBetween(int64_t first, int64_t last) {
  return "day BETWEEN " + DateOf(first) + " AND " + DateOf(last);
}

std::pair<int64_t, int64_t> DayRangeOf(std::span<const base::Uuid> ids) {
  const auto [first, last] = std::ranges::minmax_element(ids, {}, &base::Uuid::bytes);
  return {DayOf(*first), DayOf(*last)};
}

bool IsKilled(const std::string& kind) {
  return kind == policies::HangKindName(report::HangKind::kKilledInHang);
}

std::string Equal(std::string_view column, const std::string& value) {
  return value.empty() ? "" : " AND " + std::string(column) + " = " + SqlText(value);
}

}  // namespace

std::string Listed(std::span<const int64_t> numbers) {
  std::string list;
  for (int64_t number : numbers) list += (list.empty() ? "" : ", ") + std::to_string(number);
  return list;
}

std::string DateOf(int64_t day) {
  return "toDate(" + std::to_string(std::clamp<int64_t>(day, 1, kLastDay)) + ")";
}

std::string DaysOf(std::span<const base::Uuid> ids) {
  const auto [first, last] = DayRangeOf(ids);
  return DaysBetween(first, last);
}

std::string DaysAround(std::span<const base::Uuid> ids) {
  const auto [first, last] = DayRangeOf(ids);
  return DaysAround(first, last);
}

std::string DaysAround(int64_t first, int64_t last) {
  return DaysBetween(first - kDaysOfAHang, last + kDaysOfAHang);
}

std::string DaysOfHangs(int64_t first, int64_t last) { return DaysBetween(first - 1, last + kDaysOfAHang); }

std::string InHours(const std::string& column, const HourRange& hours) {
  // Of the first hour and of the last one are also ids that no day is known of.
  std::string sql = "(1";
  if (hours.first > 24) sql += " AND " + column + " >= " + SqlId(FirstIdOfHour(hours.first));
  if (hours.end < (kLastDay + 1) * 24) sql += " AND " + column + " < " + SqlId(FirstIdOfHour(hours.end));
  return sql + ")";
}

std::string Between(const base::Uuid& first, const base::Uuid& last) {
  return "id BETWEEN " + SqlId(first) + " AND " + SqlId(last) + " AND " +
         DaysBetween(DayOf(first), DayOf(last));
}

std::string OfProgram(const ReportFilter& filter) {
  return "1" + Equal("app", filter.app) + Equal("version", filter.version);
}

std::string Conditions::OfReports(const std::string& days) const {
  std::string sql = "1";
  for (const FilterText& text : kFilterTexts) {
    // Of a hang that was killed, its end says so.
    if (text.name != "kind" || !IsKilled(filter_.kind)) sql += Equal(text.name, filter_.*text.wanted);
  }
  if (filter_.first_day)
    sql += " AND id >= " + SqlId(FirstIdOf(*filter_.first_day)) + " AND day >= " + DateOf(*filter_.first_day);
  if (filter_.last_day)
    sql +=
        " AND id < " + SqlId(FirstIdOf(*filter_.last_day + 1)) + " AND day <= " + DateOf(*filter_.last_day);
  if (!filter_.cluster_key.empty()) {
    // One report of a hang decides on the cluster of all.
    const std::string in_cluster = " WHERE " + days + " AND (level1 = " + SqlText(filter_.cluster_key) +
                                   " OR level2 = " + SqlText(filter_.cluster_key) + "))";
    sql += " AND (lag_id IN (SELECT lag_id FROM " + schema_.OfShard(kReports) + in_cluster +
           " OR lag_id IN (SELECT lag_id FROM " + schema_.OfShard(kPlacements) + in_cluster + ")";
  }
  return sql;
}

std::string Conditions::OfHangs() const {
  if (filter_ == ReportFilter()) return "1";
  const std::string days = DaysAround(filter_.first_day.value_or(0), filter_.last_day.value_or(kLastDay));
  return "lag_id IN (SELECT lag_id FROM " + schema_.OfShard(kReports) + " WHERE " + OfReports(days) +
         ") AND " + days;
}

bool Conditions::Match(const ReportRow& report) const {
  return TextsMatch(filter_, report) &&
         (filter_.cluster_key.empty() || filter_.cluster_key == report.level1_key ||
          filter_.cluster_key == report.level2_key) &&
         (!filter_.first_day || report.id.bytes >= FirstIdOf(*filter_.first_day).bytes) &&
         (!filter_.last_day || report.id.bytes < FirstIdOf(*filter_.last_day + 1).bytes);
}

}  // namespace lagwatch::collector
