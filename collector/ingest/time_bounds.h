// SPDX-License-Identifier: Apache-2.0
// The times, ids and durations that a record may have. A record beyond them is wrong in every list and sum
// that it gets into, or leaves with the next retention. Context: background; pure.
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>

#include "base/status.h"
#include "collector/store/retention.h"
#include "report/format/losses.h"
#include "report/format/report.h"
#include "report/format/trace_record.h"

namespace lagwatch::collector {

// The most that a program's clock may be ahead of the collector's.
inline constexpr int64_t kMaxAheadMs = int64_t{86'400'000};
// The longest hang, window or period.
inline constexpr uint64_t kMaxDurationNs = uint64_t{30} * 86'400 * 1'000'000'000;

// The clocks against which times are checked.
struct TimeRule {
  std::function<int64_t()> wall_ms = {};  // none: every time is taken
  // The wall clock as it would be without its jumps since the program's start. A jump leaves both in doubt:
  // then what either of them allows is taken. None: the wall clock never jumps.
  std::function<int64_t()> steady_wall_ms = {};
  int64_t retention_days = 0;  // records of earlier days are refused; 0: of no day
  // The same of programs with a retention of their own.
  std::map<std::string, int64_t, std::less<>> days_of_apps = {};
};

// The days that a record may be of, as milliseconds since 1970 UTC.
struct TimeBounds {
  uint64_t earliest_ms = 0;
  uint64_t latest_ms = UINT64_MAX;
  bool is_checked = false;
  int64_t today = 0;  // since 1970 UTC

  // Those of a record of no known program.
  static TimeBounds Of(const TimeRule& rule);
  // Those of a program's records.
  TimeBounds OfApp(const TimeRule& rule, std::string_view app) const;
};

// Errors: kInvalid, with the field that is out of bounds.
base::Status CheckTimes(const report::Report& report, const TimeBounds& bounds);
base::Status CheckTimes(const report::HangEnd& end, const TimeBounds& bounds);
base::Status CheckTimes(const report::RunEnd& end, const TimeBounds& bounds);
base::Status CheckTimes(const report::FrameSlice& slice, const TimeBounds& bounds);
base::Status CheckTimes(const report::Usage& usage, const TimeBounds& bounds);
base::Status CheckTimes(const report::Losses& losses, const TimeBounds& bounds);
base::Status CheckTimes(const report::TraceRecord& trace, const TimeBounds& bounds);

}  // namespace lagwatch::collector
