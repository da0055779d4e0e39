// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "base/clock.h"
#include "base/counter.h"
#include "policies/expensive_stack.h"
#include "watchdog/loops/loop_limits.h"

namespace lagwatch::watchdog {

class HangListener;
class ServiceFeed;

// Percentages as in policies/cpu_load.h; 0: nothing is too much.
struct CpuOptions {
  static constexpr int64_t kShortestWindowNs = 1 * base::kNsPerSecond;

  bool is_watched = false;
  int32_t percent = 80;  // more than this between two looks is reported; so is one thread that uses it
  int32_t average_percent = 80;                  // more than this over a window is reported
  int32_t background_percent = 20;               // the same while the application is in the background
  int64_t window_ns = 60 * base::kNsPerSecond;   // as long is the cool-down after a report
  int64_t interval_ns = 1 * base::kNsPerSecond;  // between two looks, while something runs
};

struct WatchOptions {
  static constexpr int32_t kMaxRingSize = 100;

  int64_t threshold_ns = 2 * base::kNsPerSecond;      // a dispatch longer than this is a hang
  int64_t anr_threshold_ns = 5 * base::kNsPerSecond;  // … and longer than this an ANR; 0: never
  int64_t idle_handler_threshold_ns = 2 * base::kNsPerSecond;
  int64_t input_threshold_ns = 2 * base::kNsPerSecond;  // from an event's receipt to its end
  int64_t slow_frame_ns = 120 * base::kNsPerMs;         // a longer frame is reported; 0: none is
  int64_t slow_dispatch_ns = 700 * base::kNsPerMs;      // a longer one is recorded with its CPU time
  int64_t sensitive_ns = 250 * base::kNsPerMs;  // the listener is called for a longer one; 0: none
  int64_t usage_period_ns = 3600 * base::kNsPerSecond;  // the interval of usage reports; 0: never
  int64_t check_period_ns = 1 * base::kNsPerSecond;     // between the first checks of a hang with an unchanged stack
  int64_t recheck_cap_ns = 60 * base::kNsPerSecond;
  int64_t sample_interval_ns = 50 * base::kNsPerMs;
  int32_t ring_size = 20;            // samples that a check looks at; at most kMaxRingSize
  policies::ExpensiveStackRule expensive_stack_rule = policies::ExpensiveStackRule::kPath;
  int32_t max_threads = 512;         // whose stacks go into a report
  HangListener* listener = nullptr;  // borrowed; null: none
  ServiceFeed* service = nullptr;    // borrowed; null: no service manager
  bool reports_under_debugger = false;
  int64_t dump_interval_ns = 10 * base::kNsPerSecond;  // between two dumps on demand, at least
  CpuOptions cpu;

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
  base::Counter notes_lost;        // of slow dispatches, because too many came at once
  base::Counter usage_records;     // that were kept
  base::Counter samples;
  base::Counter samples_discarded;  // taken too late: the dispatch was over
  base::Counter capture_pause_ns;   // that the program's threads spent in the capture signal's handler
};

}  // namespace lagwatch::watchdog
