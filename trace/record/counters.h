// SPDX-License-Identifier: Apache-2.0
// What a recorder counts, where other processes can read it.
#pragma once

#include "base/counter.h"

namespace lagwatch::trace {

// Each drop has its own, and a reader names the option that would have avoided it.
struct RecordCounters {
  base::Counter looks;               // at threads, by samplers
  base::Counter samples;             // stacks captured or extended
  base::Counter extended;            // of these, of threads that had not run since
  base::Counter captures;            // of threads that looked at themselves in calls
  base::Counter raw_bytes;           // what the samples would take with all their program counters
  base::Counter run_bytes;           // what they took
  base::Counter no_answer;           // captures that yielded no stack
  base::Counter timers_refused;      // threads that are not looked at while they run
  base::Counter between_dispatches;  // samples during which a dispatch began or ended
  base::Counter late_ticks;          // of a sampler that came an interval or more too late
  base::Counter stacks_refused;      // that did not fit the call-stack table
  base::Counter stack_generations;   // how often older stacks had to be forgotten
  base::Counter runs_refused;        // that found no block
  base::Counter threads_refused;     // that found no place
  base::Counter modules_refused;
  base::Counter captures_dropped;    // of threads that looked at themselves, whose ring was full
  base::Counter dispatches_refused;  // whose times found no block, or were not taken over in time
};

}  // namespace lagwatch::trace
