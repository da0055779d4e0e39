// SPDX-License-Identifier: Apache-2.0
// SQL for what a filter asks for. Days are also what partitions are left out by. Context: background; pure.
#pragma once

#include <span>
#include <string>

#include "base/uuid.h"
#include "collector/store/clickhouse/server/schema.h"
#include "collector/store/clickhouse/server/sums_unit.h"
#include "collector/store/records.h"

namespace lagwatch::collector {

// Longer than any hang that is believed (cause_sums.cc): so far away can reports of one hang be.
inline constexpr int64_t kDaysOfAHang = 31;

// Numbers as a list, for IN.
std::string Listed(std::span<const int64_t> numbers);
// A day as a Date.
std::string DateOf(int64_t day);
// Conditions on `day`, of rows about these ids; and of all that can be of their hangs. There is one
// id at least.
std::string DaysOf(std::span<const base::Uuid> ids);
std::string DaysAround(std::span<const base::Uuid> ids);
std::string DaysAround(int64_t first, int64_t last);
// Reports with ids from `first` to `last`, both included.
std::string Between(const base::Uuid& first, const base::Uuid& last);
// Days of reports of hangs that began from the day `first` to `last`.
std::string DaysOfHangs(int64_t first, int64_t last);
// Ids in `column` that were made in these hours.
std::string InHours(const std::string& column, const HourRange& hours);
// Rows of that program's version, where they are named.
std::string OfProgram(const ReportFilter& filter);

// The conditions of a filter. A report's present state is in several tables: so statements select candidates,
// and each report read is checked once more.
class Conditions {
 public:
  // Borrows both.
  Conditions(const ReportFilter& filter, const Schema& schema) : filter_(filter), schema_(schema) {}

  // Of reports that may match; `days` are those of all reports of their hangs.
  std::string OfReports(const std::string& days) const;
  // Of all reports of hangs that have one that may match.
  std::string OfHangs() const;

  bool Match(const ReportRow& report) const;

 private:
  const ReportFilter& filter_;
  const Schema& schema_;
};

}  // namespace lagwatch::collector
