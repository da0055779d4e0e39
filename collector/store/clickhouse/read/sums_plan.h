// SPDX-License-Identifier: Apache-2.0
// Decides which units are answered from their sums and which from their reports. Context: background.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "collector/store/clickhouse/read/sum_row.h"
#include "collector/store/clickhouse/server/row_source.h"
#include "collector/store/clickhouse/server/sums_unit.h"
#include "collector/store/records.h"

namespace lagwatch::collector {

// The state of units. Throws ClickHouseError.
struct UnitStates {
  std::map<int64_t, int64_t> marks;    // by unit: the sum of their numbers
  std::map<int64_t, SumState> states;  // by unit, of those that have been summed up
  bool has_removals = false;           // some marks are those of removed rows (unit_marks.h)

  static UnitStates Read(const RowSource& source);

  // All that was stored has marks, also what older collectors stored.
  bool is_marked() const { return marks.contains(SumsUnit::OfStart().number()); }
  // The marks of a unit; of a day, those of its hours; of a span, those of its days.
  int64_t MarksOf(SumsUnit unit) const;
  const SumState* StateOf(SumsUnit unit) const;
};

// The same, as it was a second ago at most, for answers. Thread-safe.
class KnownUnits {
 public:
  explicit KnownUnits(RowSource source) : source_(std::move(source)) {}

  std::shared_ptr<const UnitStates> Get();
  // Forgets states that this collector has changed.
  void Forget();

 private:
  const RowSource source_;
  std::mutex mutex_;
  std::shared_ptr<const UnitStates> known_;          // guarded by mutex_
  std::chrono::steady_clock::time_point read_at_{};  // likewise
  uint64_t changes_ = 0;                             // likewise
};

struct SumsPlan {
  // So many reports, at most, of units that changed after they were summed up are read themselves; larger
  // units are as they were, until they are summed up again.
  static constexpr int64_t kMostReports = 20'000;
  // More stretches than these are read as all reports are.
  static constexpr size_t kMostRanges = 60;

  std::vector<int64_t> units;     // whose sums are read, spans among them
  std::vector<int64_t> days;      // the same without spans: for answers by day
  std::vector<HourRange> others;  // whose reports are read

  // The same of usage: all days of the filter that have some. `others` are whole days.
  static std::optional<SumsPlan> OfUsage(const UnitStates& known, const ReportFilter& filter);
  // All units that may have reports of the filter's days. Nothing when reports are as well read all.
  static std::optional<SumsPlan> Of(const UnitStates& known, const ReportFilter& filter);
};

}  // namespace lagwatch::collector
