// SPDX-License-Identifier: Apache-2.0
// Schedules the checks of one span, a thing that must be over in time, and decides which of its
// reports are made.
//
//   none ──begun──▶ watching ──not over at the threshold──▶ hanging ──over──▶ none
//                                       └──at the second threshold: raised to ANR
//
// It decides and remembers; LoopWatch captures.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <span>

#include "base/uuid.h"
#include "policies/check_schedule.h"
#include "policies/time_discount.h"
#include "watchdog/events/hang_sink.h"
#include "watchdog/loops/watch_options.h"
#include "watchdog/spans/span_source.h"

namespace lagwatch::watchdog {

// The threads' clocks when a span's first window opened.
struct CpuBaseline {
  int64_t mono_ns = 0;
  int64_t thread_cpu_ns = 0;
  int64_t process_cpu_ns = 0;
};

// Context: watchdog; not thread-safe.
class SpanWatch {
 public:
  static constexpr size_t kMaxTagBytes = 128;
  static constexpr uint32_t kMaxReportsPerHang = 16;

  // Of the span being watched; 0 when there is none.
  uint64_t number() const { return number_; }
  bool is_hanging() const { return is_hanging_; }
  bool is_window_open() const { return is_window_open_; }
  HangLevel level() const { return level_; }
  int64_t begin_ns() const { return begin_ns_; }
  int64_t threshold_ns() const { return thresholds_.threshold_ns; }
  const char* tag() const { return tag_; }
  uint64_t first_sample() const { return first_sample_; }
  // The longer a hang goes on, the rarer its samples are. At least `least_ns`.
  int64_t SampleIntervalNs(int64_t now_ns, int64_t least_ns = 0) const {
    const int64_t interval_ns = std::max(schedule_.interval_ns(), least_ns);
    return is_hanging_ ? std::max(interval_ns, schedule_.HangIntervalNs(now_ns - begin_ns_)) : interval_ns;
  }
  const CpuBaseline& cpu_baseline() const { return cpu_baseline_; }

  // Sees `span` go on: a new one, or the one watched, whose thresholds may have changed.
  void Follow(const Span& span, const WatchOptions& options);
  // Nothing is watched any more.
  void End();
  // Time passed that was not the program's: it does not count for the span being watched.
  void Discount(const policies::DiscountedTime& findings);
  // The findings since the span began.
  const policies::DiscountedTime& discounted() const { return discounted_; }
  // Lets the span begin at `now_ns`: the time before was spent idle.
  void BeginAgain(int64_t now_ns);
  // Leaves the next check out: the one after it is at `check_ns`.
  void PutOffCheck(int64_t check_ns) {
    put_off_to_ns_ = next_check_ns_ = check_ns;
    window_of_hang_ns_ = schedule_.WindowStartNs(check_ns);
  }
  // The same for a window, which is closed until then.
  void PutOffWindow(int64_t window_ns) {
    PutOffCheck(window_ns + schedule_.window_ns());
    is_window_open_ = false;
  }

  bool IsWindowDue(int64_t now_ns) const { return now_ns >= WindowStartNs(); }
  bool IsCheckDue(int64_t now_ns) const { return now_ns >= next_check_ns_; }
  // When it is next to be looked at, if samples are taken in between.
  int64_t NextLookNs() const { return is_window_open_ ? next_check_ns_ : WindowStartNs(); }

  // Opens the window before the next check: captures from sample number `first_sample` on belong to the span.
  // Returns true if it is the first of the span or hang, from which on CPU use is reported.
  bool OpenWindow(uint64_t first_sample);
  void SetCpuBaseline(const CpuBaseline& baseline) { cpu_baseline_ = baseline; }
  void SetTag(const char (&tag)[kMaxTagBytes]) { std::memcpy(tag_, tag, sizeof tag_); }

  // A check finds the span still going on with a stack of this hash; kNoStack when none could be captured.
  static constexpr uint64_t kNoStack = 0;
  enum class Outcome { kReport, kUnchanged, kOverLimit };
  Outcome Check(uint64_t stack_hash, int64_t now_ns, const WatchOptions& options);

  // The reports of this hang that were kept; the first names it.
  void AddReport(const base::Uuid& id) { report_ids_[report_count_++] = id; }
  std::span<const base::Uuid> report_ids() const { return {report_ids_, report_count_}; }

 private:
  void Start(const Span& span, const WatchOptions& options);
  // That of a hang goes on: the time from the last check on counts.
  int64_t WindowStartNs() const {
    return is_hanging_ ? window_of_hang_ns_ : schedule_.WindowStartNs(next_check_ns_);
  }
  // Whether the second threshold is still ahead.
  bool IsAnrAhead() const { return thresholds_.anr_threshold_ns != 0 && level_ == HangLevel::kHang; }
  int64_t AnrNs() const { return begin_ns_ + thresholds_.anr_threshold_ns; }
  // `check_ns`, or earlier when the second threshold is.
  int64_t NoLaterThanAnr(int64_t check_ns) const;

  uint64_t number_ = 0;
  int64_t begin_ns_ = 0;
  Thresholds thresholds_;
  policies::CheckSchedule schedule_{};
  int64_t next_check_ns_ = 0;
  int64_t put_off_to_ns_ = 0;  // 0: nothing was put off
  int64_t window_of_hang_ns_ = 0;
  policies::DiscountedTime discounted_;
  bool is_window_open_ = false;
  uint64_t first_sample_ = 0;
  char tag_[kMaxTagBytes] = {};
  CpuBaseline cpu_baseline_;

  // The hang, if the span has become one.
  bool is_hanging_ = false;
  HangLevel level_ = HangLevel::kHang;
  policies::RecheckInterval recheck_interval_{1, 1};
  // Of the stacks that checks have found, the last ones; each is to be reported once.
  bool IsKnown(uint64_t stack_hash) const;
  uint64_t known_hashes_[kMaxReportsPerHang];
  uint32_t known_count_ = 0;
  uint32_t report_count_ = 0;
  base::Uuid report_ids_[kMaxReportsPerHang];
};

}  // namespace lagwatch::watchdog
