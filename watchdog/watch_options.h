// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "base/clock.h"
#include "base/counter.h"
#include "watchdog/loop_limits.h"

namespace lagwatch::watchdog {

class HangListener;

struct WatchOptions {
  static constexpr int32_t kMaxRingSize = 100;

  int64_t threshold_ns = 2 * base::kNsPerSecond;      // a dispatch longer than this is a lag
  int64_t anr_threshold_ns = 5 * base::kNsPerSecond;  // … and longer than this an ANR; 0: never
  int64_t idle_handler_threshold_ns = 2 * base::kNsPerSecond;
  int64_t input_threshold_ns = 2 * base::kNsPerSecond;  // from an event's receipt to its end
  int64_t slow_dispatch_ns = 700 * base::kNsPerMs;      // one longer than this is told with its CPU time
  int64_t sensitive_ns = 250 * base::kNsPerMs;  // one longer than this is told to the listener; 0: none
  int64_t usage_period_ns = 3600 * base::kNsPerSecond;  // what loops were used for is told so often; 0: never
  int64_t check_period_ns = 1 * base::kNsPerSecond;     // between two checks of a lag, before annealing
  int64_t annealing_cap_ns = 60 * base::kNsPerSecond;
  int64_t sample_interval_ns = 50 * base::kNsPerMs;
  int32_t ring_size = 20;            // samples that a check looks at; at most kMaxRingSize
  int32_t max_threads = 512;         // whose stacks go into a report
  HangListener* listener = nullptr;  // borrowed; null: nobody listens
  bool reports_under_debugger = false;

  Thresholds thresholds() const { return {threshold_ns, anr_threshold_ns}; }
};

struct WatchCounters {
  base::Counter lags;  // of every kind
  base::Counter reports;
  base::Counter reports_lost;            // the sink could not keep them
  base::Counter unchanged_checks;        // checks of a lag that found the stack unchanged
  base::Counter reports_over_lag_limit;  // changed stacks of a lag that had its share of reports
  base::Counter thread_stacks_reused;    // of threads that had slept since an earlier report
  base::Counter waits_changed;  // left out of a report, because they were over before they could be told
  base::Counter lock_layouts_unknown;  // kinds of locks whose owners cannot be told with this C library
  // What the guards found; see policies/guard.h.
  base::Counter checks_under_debugger;  // lags that were not reported, because a debugger may have made them
  base::Counter stops;                  // of the process
  base::Counter stopped_ms;
  base::Counter suspensions;  // of the machine
  base::Counter late_wakes;   // of the watchdog, for want of a processor
  // Spans that were no lags, but would have been.
  base::Counter lags_stopped;      // … had the process not been stopped
  base::Counter lags_suspended;    // … had the machine not slept
  base::Counter lags_ended_first;  // … had they been looked at in time
  base::Counter notes_lost;        // of slow dispatches, because too many came at once
  base::Counter usage_records;     // that were kept
  base::Counter samples;
  base::Counter samples_discarded;  // taken too late: the dispatch was over
};

}  // namespace lagwatch::watchdog
