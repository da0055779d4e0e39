// SPDX-License-Identifier: Apache-2.0
#include "collector/store/clickhouse/read/sums_plan.h"

#include <algorithm>
#include <set>
#include <tuple>

#include "collector/store/clickhouse/server/conditions.h"
#include "collector/store/clickhouse/server/unit_marks.h"

namespace lagwatch::collector {
namespace {

bool MayHave(const SumState& state, SumsUnit unit, const ReportFilter& filter) {
  return state.reports > 0 && (!filter.first_day || state.last_day >= *filter.first_day) &&
         (!filter.last_day || unit.day() <= *filter.last_day + 1);
}

// Days that have marks, and may have reports of the filter's.
std::set<int64_t> MarkedDays(const UnitStates& known, const ReportFilter& filter) {
  std::set<int64_t> days;
  for (const auto& [number, marks] : known.marks) {
    const SumsUnit unit(number);
    if (!unit.is_hour()) continue;
    if (filter.first_day && unit.day() < *filter.first_day - kDaysOfAHang) continue;
    if (filter.last_day && unit.day() > *filter.last_day + 1) continue;
    days.insert(unit.day());
  }
  return days;
}

// The units that a day is read by: itself once it was summed up, else its hours.
std::vector<SumsUnit> UnitsOf(const UnitStates& known, int64_t day) {
  const SumsUnit whole = SumsUnit::OfDay(day);
  if (known.StateOf(whole) != nullptr) return {whole};
  std::vector<SumsUnit> hours;
  for (int64_t hour = day * 24; hour < (day + 1) * 24; ++hour) {
    if (known.marks.contains(SumsUnit::OfHour(hour).number())) hours.push_back(SumsUnit::OfHour(hour));
  }
  return hours;
}

// Whether all of the span's reports are of the filter's days, and its sums were made of its days as they are.
bool HasSpan(const UnitStates& known, SumsUnit span, const ReportFilter& filter) {
  const SumState* state = known.StateOf(span);
  return state != nullptr && state->marks >= known.MarksOf(span) &&
         (!filter.first_day || *filter.first_day < span.day()) &&
         (!filter.last_day || *filter.last_day >= std::max(state->last_day, span.day()));
}

// The units with spans in place of their days.
std::vector<int64_t> WithSpans(const UnitStates& known, const std::vector<int64_t>& days,
                               const ReportFilter& filter) {
  std::set<int64_t> units;
  for (int64_t number : days) {
    const SumsUnit span = SumsUnit::OfSpan(SumsUnit(number).day());
    units.insert(HasSpan(known, span, filter) ? span.number() : number);
  }
  return {units.begin(), units.end()};
}

std::vector<HourRange> Joined(std::vector<SumsUnit> units) {
  std::ranges::sort(units, {}, &SumsUnit::first_hour);
  std::vector<HourRange> ranges;
  for (const SumsUnit unit : units) {
    if (ranges.empty() || ranges.back().end != unit.first_hour()) {
      ranges.push_back({unit.first_hour(), unit.end_hour()});
    } else {
      ranges.back().end = unit.end_hour();
    }
  }
  return ranges;
}

}  // namespace

UnitStates UnitStates::Read(const RowSource& source) {
  UnitStates known;
  source.Select("unit, collector, max(number)", kMarks, " GROUP BY unit, collector", "iii",
                [&](const Row& row) {
                  known.marks[row.Int(0)] += row.Int(2);
                  known.has_removals |= IsOfRemoval(row.Int(1));
                });
  source.Select("unit, reports, lags, first_seen_ms, last_seen_ms, cause", kDaySums,
                " WHERE scope = " + std::to_string(static_cast<int64_t>(SumScope::kState)), "iiiiii",
                [&](const Row& row) {
                  known.states[row.Int(0)] = {.reports = row.Int(1),
                                              .marks = row.Int(2),
                                              .made_ms = row.Int(3),
                                              .took_ms = row.Int(4),
                                              .last_day = row.Int(5)};
                });
  return known;
}

std::shared_ptr<const UnitStates> KnownUnits::Get() {
  constexpr std::chrono::seconds kStays{1};
  uint64_t changes = 0;
  {
    std::lock_guard lock(mutex_);
    if (known_ && std::chrono::steady_clock::now() - read_at_ < kStays) return known_;
    changes = changes_;
  }
  const auto read_at = std::chrono::steady_clock::now();
  auto known = std::make_shared<const UnitStates>(UnitStates::Read(source_));
  std::lock_guard lock(mutex_);
  if (changes == changes_) std::tie(known_, read_at_) = std::pair(known, read_at);
  return known;
}

void KnownUnits::Forget() {
  std::lock_guard lock(mutex_);
  ++changes_;
  known_.reset();
}

int64_t UnitStates::MarksOf(SumsUnit unit) const {
  if (unit.is_span()) {
    int64_t sum = 0;
    for (int64_t day = unit.day(); day < unit.end_day(); ++day) sum += MarksOf(SumsUnit::OfDay(day));
    return sum;
  }
  if (!unit.is_day()) {
    const auto found = marks.find(unit.number());
    return found == marks.end() ? 0 : found->second;
  }
  int64_t sum = 0;
  for (int64_t hour = unit.first_hour(); hour < unit.end_hour(); ++hour)
    sum += MarksOf(SumsUnit::OfHour(hour));
  return sum;
}

const SumState* UnitStates::StateOf(SumsUnit unit) const {
  const auto found = states.find(unit.number());
  return found == states.end() ? nullptr : &found->second;
}

std::optional<SumsPlan> SumsPlan::OfUsage(const UnitStates& known, const ReportFilter& filter) {
  if (!known.is_marked()) return std::nullopt;
  SumsPlan plan;
  for (const auto& [number, marks] : known.marks) {
    const SumsUnit unit(number);
    if (!unit.is_usage() || (filter.first_day && unit.day() < *filter.first_day) ||
        (filter.last_day && unit.day() > *filter.last_day))
      continue;
    const SumState* state = known.StateOf(unit);
    if (state != nullptr && state->marks >= marks) {
      plan.units.push_back(number);
    } else {
      plan.others.push_back({unit.day() * 24, (unit.day() + 1) * 24});
    }
  }
  if (plan.others.size() > kMostRanges) return std::nullopt;
  return plan;
}

std::optional<SumsPlan> SumsPlan::Of(const UnitStates& known, const ReportFilter& filter) {
  if (!known.is_marked() || known.states.empty()) return std::nullopt;
  SumsPlan plan;
  std::vector<SumsUnit> others;
  std::vector<std::pair<int64_t, SumsUnit>> changed;  // by their reports
  for (int64_t day : MarkedDays(known, filter)) {
    for (const SumsUnit unit : UnitsOf(known, day)) {
      const SumState* state = known.StateOf(unit);
      if (state == nullptr) {
        others.push_back(unit);
      } else if (state->marks < known.MarksOf(unit)) {
        changed.emplace_back(state->reports, unit);
      } else if (MayHave(*state, unit, filter)) {
        plan.days.push_back(unit.number());
      }
    }
  }
  std::ranges::sort(changed, {}, [](const auto& each) { return each.first; });
  int64_t reports = 0;
  for (const auto& [of_unit, unit] : changed) {
    reports += of_unit;
    if (reports <= kMostReports) {
      others.push_back(unit);
    } else {
      plan.days.push_back(unit.number());
    }
  }
  plan.units = WithSpans(known, plan.days, filter);
  plan.others = Joined(std::move(others));
  if (plan.others.size() > kMostRanges) return std::nullopt;
  return plan;
}

}  // namespace lagwatch::collector
