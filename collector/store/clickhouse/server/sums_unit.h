// SPDX-License-Identifier: Apache-2.0
// Units of time whose reports are summed up together: an hour of a day that is not over, or a day. A report
// belongs to the hour of its hang's first report, so that all reports of a hang are divided within one unit.
// A span is made of the sums of its days: lists read one of it instead of each day's.
// Context: background; pure.
#pragma once

#include <cstdint>

#include "base/uuid.h"
#include "collector/store/records.h"

namespace lagwatch::collector {

// Since 1970 UTC, of ids; an id of a later time than ClickHouse's last day belongs to the last hour.
int64_t HourOf(const base::Uuid& id);
base::Uuid FirstIdOfHour(int64_t hour);
// The hour that a report is summed up in. A hang's id that cannot be that of its first report does not count.
int64_t HomeHourOf(const base::Uuid& id, const base::Uuid& hang_id);

// A unit's number in the column `unit`.
class SumsUnit {
 public:
  static SumsUnit OfHour(int64_t hour) { return SumsUnit(hour / 24 * kOfADay + hour % 24); }
  static SumsUnit OfDay(int64_t day) { return SumsUnit(day * kOfADay + kDay); }
  // The span that this day is in.
  static SumsUnit OfSpan(int64_t day) {
    return SumsUnit(day / kDaysOfASpan * kDaysOfASpan * kOfADay + kSpan);
  }
  // The watched time of loops, from records that ended on that day.
  static SumsUnit OfUsage(int64_t day) { return SumsUnit(day * kOfADay + kUsageOfADay); }
  // Marks of it say that the hangs of some ends of that day's reports were not known; no reports are summed
  // up in it.
  static SumsUnit OfUnknownHangs(int64_t day) { return SumsUnit(day * kOfADay + kUnknownHangs); }
  // Marked when all that was stored before there were marks has been marked.
  static SumsUnit OfStart() { return SumsUnit(0); }
  // Marked when units of removed reports have been marked.
  static SumsUnit OfRetention() { return SumsUnit(1); }
  explicit SumsUnit(int64_t number) : number_(number) {}

  int64_t number() const { return number_; }
  // Of a span, its first.
  int64_t day() const { return number_ / kOfADay; }
  // The first day that is not of it.
  int64_t end_day() const { return day() + (is_span() ? kDaysOfASpan : 1); }
  bool is_day() const { return number_ % kOfADay == kDay; }
  bool is_hour() const { return number_ % kOfADay < 24 && number_ >= kOfADay; }
  bool is_span() const { return number_ % kOfADay == kSpan; }
  bool is_usage() const { return number_ % kOfADay == kUsageOfADay; }
  bool is_unknown_hangs() const { return number_ % kOfADay == kUnknownHangs; }
  // Hours since 1970, not of a span; the last is the first that is not of it.
  int64_t first_hour() const { return day() * 24 + (is_day() ? 0 : number_ % kOfADay); }
  int64_t end_hour() const { return first_hour() + (is_day() ? 24 : 1); }

  bool operator==(const SumsUnit&) const = default;

  static constexpr int64_t kDaysOfASpan = 8;

 private:
  static constexpr int64_t kOfADay = 32;
  static constexpr int64_t kDay = 24;
  static constexpr int64_t kUsageOfADay = 25;
  static constexpr int64_t kSpan = 26;
  static constexpr int64_t kUnknownHangs = 31;

  int64_t number_;
};

// Hours that follow each other.
struct HourRange {
  int64_t first;
  int64_t end;  // not of it

  bool Has(int64_t hour) const { return hour >= first && hour < end; }
};

}  // namespace lagwatch::collector
