// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "base/clock.h"
#include "base/counter.h"
#include "policies/expensive_stack.h"
#include "policies/options/option_table.h"
#include "watchdog/loops/loop_limits.h"

namespace lagwatch::watchdog {

class HangListener;
class ServiceBeats;
class ServiceFeed;
class ValueSource;

using policies::OptionTable;

// Percentages as in policies/cpu_load.h; 0: nothing is too much. The window is the cool-down after a report, too.
struct CpuOptions {
  bool is_watched = false;
  int32_t percent = OptionTable::cpu_percent.standard;
  int32_t average_percent = OptionTable::cpu_average_percent.standard;
  int32_t background_percent = OptionTable::cpu_background_percent.standard;
  int64_t window_ns = OptionTable::cpu_window_ms.standard * base::kNsPerMs;
  int64_t interval_ns = 1 * base::kNsPerSecond;  // between two looks, while something runs
};

struct IoOptions {
  int64_t limit_ns = OptionTable::io_watch_ms.standard * base::kNsPerMs;  // 0: off
  // Opens, look-ups and changes of files in one dispatch; 0: any number.
  uint32_t path_calls = OptionTable::io_watch_calls.standard;
};

// The meanings of the options are in their table, policies/options/options.def.
struct WatchOptions {
  static constexpr int32_t kMaxRingSize = OptionTable::ring_size.most;

  int64_t threshold_ns = OptionTable::threshold_ms.standard * base::kNsPerMs;
  int64_t anr_threshold_ns = OptionTable::anr_threshold_ms.standard * base::kNsPerMs;
  int64_t idle_handler_threshold_ns = OptionTable::idle_handler_threshold_ms.standard * base::kNsPerMs;
  int64_t input_threshold_ns = OptionTable::input_threshold_ms.standard * base::kNsPerMs;  // from an event's receipt
  int64_t slow_frame_ns = OptionTable::slow_frame_ms.standard * base::kNsPerMs;
  int64_t slow_dispatch_ns = OptionTable::slow_dispatch_ms.standard * base::kNsPerMs;
  int64_t sensitive_ns = OptionTable::sensitive_ms.standard * base::kNsPerMs;
  int64_t usage_period_ns = OptionTable::usage_period_s.standard * base::kNsPerSecond;
  int64_t check_period_ns = OptionTable::check_period_ms.standard * base::kNsPerMs;
  int64_t recheck_cap_ns = 60 * base::kNsPerSecond;
  int64_t sample_interval_ns = OptionTable::sample_interval_ms.standard * base::kNsPerMs;
  int32_t ring_size = OptionTable::ring_size.standard;  // at most kMaxRingSize
  policies::ExpensiveStackRule expensive_stack_rule = policies::ExpensiveStackRule::kPath;
  int32_t max_threads = 512;         // whose stacks go into a report
  HangListener* listener = nullptr;  // borrowed; null: none
  ServiceFeed* service = nullptr;    // borrowed; null: no service manager
  ServiceBeats* beats = nullptr;     // borrowed; null: the program's own notifications are not watched
  const ValueSource* values = nullptr;  // borrowed; null: usage is counted by no values
  bool reports_under_debugger = false;
  bool hides_peers = false;  // no names and stacks of other processes
  int64_t dump_interval_ns = OptionTable::dump_interval_ms.standard * base::kNsPerMs;
  CpuOptions cpu;
  IoOptions io;

  Thresholds thresholds() const { return {threshold_ns, anr_threshold_ns}; }
};

struct WatchCounters {
  base::Counter hangs;  // of every kind
  base::Counter reports;
  base::Counter reports_lost;            // the sink could not keep them
  base::Counter dumps;                   // reports that were asked for
  base::Counter unchanged_checks;        // checks of a hang that found the stack unchanged
  base::Counter reports_over_hang_limit;  // changed stacks of a hang that had its share of reports
  base::Counter thread_stacks_reused;    // of threads that had slept since an earlier report
  base::Counter waits_changed;  // left out of a report, because they were over too soon
  base::Counter lock_layouts_unknown;  // kinds of locks whose owners are unknown with this C library
  // Time that is not blamed on the program; see policies/time_discount.h.
  base::Counter checks_under_debugger;  // hangs and dumps not reported, because a debugger may have made them
  base::Counter stops;                  // of the process
  base::Counter stopped_ms;
  base::Counter suspensions;  // of the machine
  base::Counter blocked_ms;   // the watchdog waited in the kernel while the process ran: DiscountedTime
  base::Counter late_wakes;   // of the watchdog, for lack of a processor
  // Spans that were no hangs, but would have been.
  base::Counter hangs_stopped;      // … had the process not been stopped
  base::Counter hangs_suspended;    // … had the machine not slept
  base::Counter hangs_ended_first;  // … had they been looked at in time
  base::Counter idle_waits;        // … had the thread not slept until some event came
  base::Counter unproven_waits;    // … of which nothing said whether the thread idled, at a check
  base::Counter unproven_waits_settled;  // of them, those of which that is known by now
  base::Counter notes_lost;        // of slow dispatches, because too many came at once
  base::Counter usage_records;     // that were kept
  base::Counter samples;
  base::Counter samples_discarded;  // taken too late: the dispatch was over
  base::Counter capture_pause_ns;   // that the program's threads spent in the capture signal's handler
};

}  // namespace lagwatch::watchdog
