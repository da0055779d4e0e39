// SPDX-License-Identifier: Apache-2.0
#include "collector/ingest/time_bounds.h"

#include <algorithm>
#include <string>

#include "collector/store/records.h"

namespace lagwatch::collector {
namespace {

constexpr uint64_t kMaxDurationMs = kMaxDurationNs / 1'000'000;

// Collects the first field that is out of bounds.
class TimeCheck {
 public:
  explicit TimeCheck(const TimeBounds& bounds) : bounds_(bounds) {}

  // The time in a UUID of version 7 decides in which day the store puts the record.
  TimeCheck& Id(const char* name, const base::Uuid& id) {
    return Moment(name, static_cast<uint64_t>(WallMsOf(id)));
  }
  TimeCheck& Moment(const char* name, uint64_t wall_ms) {
    if (wall_ms < bounds_.earliest_ms) Fail(name, "is before the days that are kept");
    return NotAhead(name, wall_ms);
  }
  // The beginning of something that may have lasted since before the days that are kept.
  TimeCheck& Beginning(const char* name, uint64_t wall_ms) {
    if (wall_ms < bounds_.earliest_ms - std::min(bounds_.earliest_ms, kMaxDurationMs))
      Fail(name, "is before the days that are kept");
    return NotAhead(name, wall_ms);
  }
  TimeCheck& NotAhead(const char* name, uint64_t wall_ms) {
    if (wall_ms > bounds_.latest_ms) Fail(name, "is more than a day ahead of the collector's clock");
    return *this;
  }
  TimeCheck& Duration(const char* name, uint64_t duration_ns) {
    if (duration_ns > kMaxDurationNs) Fail(name, "is longer than 30 days");
    return *this;
  }

  Status Result() const {
    if (!bounds_.is_checked || problem_.empty()) return {};
    return {StatusCode::kInvalid, problem_};
  }

 private:
  void Fail(const char* name, const char* problem) {
    if (problem_.empty()) problem_ = std::string("refused: ") + name + " " + problem;
  }

  const TimeBounds& bounds_;
  std::string problem_;
};

uint64_t EarliestMs(int64_t today, int64_t retention_days) {
  const int64_t first_day = retention_days == 0 ? 0 : std::max<int64_t>(today - retention_days, 0);
  return static_cast<uint64_t>(first_day * kMsPerDay);
}

bool IsNone(const base::Uuid& id) { return id == base::Uuid{}; }

}  // namespace

TimeBounds TimeBounds::Of(const TimeRule& rule) {
  if (!rule.wall_ms) return {};
  const int64_t wall_ms = std::max<int64_t>(rule.wall_ms(), 0);
  const int64_t steady_ms = rule.steady_wall_ms ? std::max<int64_t>(rule.steady_wall_ms(), 0) : wall_ms;
  const int64_t today = std::min(wall_ms, steady_ms) / kMsPerDay;
  const int64_t longest_days = Retention{rule.retention_days, rule.days_of_apps}.LongestDays();
  return {.earliest_ms = EarliestMs(today, longest_days),
          .latest_ms = static_cast<uint64_t>(std::max(wall_ms, steady_ms) + kMaxAheadMs),
          .is_checked = true,
          .today = today};
}

TimeBounds TimeBounds::OfApp(const TimeRule& rule, std::string_view app) const {
  if (!is_checked || rule.days_of_apps.empty()) return *this;
  const auto own = rule.days_of_apps.find(app);
  TimeBounds bounds = *this;
  bounds.earliest_ms = EarliestMs(today, own == rule.days_of_apps.end() ? rule.retention_days : own->second);
  return bounds;
}

Status CheckTimes(const report::Report& report, const TimeBounds& bounds) {
  TimeCheck check(bounds);
  check.Id("id", report.id)
      .Beginning("start_wall_ms", report.start_wall_ms)
      .Duration("elapsed_ns", report.elapsed_ns)
      .Duration("cpu_window_ns", report.cpu_window_ns);
  for (const report::Sample& sample : report.samples)
    check.Duration("a sample's age_ns", sample.age_ns).Duration("a sample's wall_ns", sample.wall_ns);
  for (const report::PastDispatch& past : report.history)
    check.Duration("a past dispatch's age_ns", past.age_ns)
        .Duration("a past dispatch's wall_ns", past.wall_ns);
  return check.Result();
}

Status CheckTimes(const report::HangEnd& end, const TimeBounds& bounds) {
  return TimeCheck(bounds).Id("report_id", end.report_id).Duration("duration_ns", end.duration_ns).Result();
}

// A run may have begun long ago. A program that does not know when its last run was last seen writes 0.
Status CheckTimes(const report::RunEnd& end, const TimeBounds& bounds) {
  TimeCheck check(bounds);
  check.NotAhead("run_start_wall_ms", end.run_start_wall_ms).Duration("hang_ns", end.hang_ns);
  if (end.last_seen_wall_ms != 0) check.Moment("last_seen_wall_ms", end.last_seen_wall_ms);
  if (!IsNone(end.report_id)) check.Id("report_id", end.report_id);
  return check.Result();
}

Status CheckTimes(const report::FrameSlice& slice, const TimeBounds& bounds) {
  return TimeCheck(bounds)
      .Id("id", slice.id)
      .Beginning("begin_wall_ms", slice.begin_wall_ms)
      .Duration("duration_ns", slice.duration_ns)
      .Duration("refresh_interval_ns", slice.refresh_interval_ns)
      .Result();
}

// A period's end may be long after its beginning on a machine that slept.
Status CheckTimes(const report::Usage& usage, const TimeBounds& bounds) {
  return TimeCheck(bounds)
      .Id("id", usage.id)
      .NotAhead("begin_wall_ms", usage.begin_wall_ms)
      .Moment("end_wall_ms", usage.end_wall_ms)
      .Result();
}

Status CheckTimes(const report::Losses& losses, const TimeBounds& bounds) {
  return TimeCheck(bounds)
      .Id("id", losses.id)
      .NotAhead("begin_wall_ms", losses.begin_wall_ms)
      .Moment("end_wall_ms", losses.end_wall_ms)
      .Result();
}

Status CheckTimes(const report::TraceRecord& trace, const TimeBounds& bounds) {
  return TimeCheck(bounds)
      .Id("id", trace.id)
      .Beginning("begin_wall_ms", trace.begin_wall_ms)
      .Duration("duration_ns", trace.duration_ns)
      .Result();
}

}  // namespace lagwatch::collector
