// SPDX-License-Identifier: Apache-2.0
// The recorder's counters, which other processes can read.
#pragma once

#include "base/counter.h"

namespace lagwatch::trace {

// Each drop has its own, and a reader names the option that would have avoided it.
struct RecordCounters {
  base::Counter looks;               // checks of threads, by samplers
  base::Counter samples;             // stacks captured or extended
  base::Counter extended;            // of these, of threads that had not run since
  base::Counter captures;            // of threads by themselves, in hooked calls
  base::Counter raw_bytes;           // size of the samples with all their program counters
  base::Counter run_bytes;           // their encoded size
  base::Counter no_answer;           // captures that yielded no stack
  base::Counter timers_refused;      // threads that are not sampled while they run
  base::Counter between_dispatches;  // samples during which a dispatch began or ended
  base::Counter late_ticks;          // of a sampler that came an interval or more too late
  base::Counter stacks_refused;      // that did not fit the call-stack table
  base::Counter stack_generations;   // times that older stacks were discarded
  base::Counter runs_refused;        // that found no block
  base::Counter threads_refused;     // that found no place
  base::Counter modules_refused;
  base::Counter captures_dropped;    // of threads by themselves, whose ring was full
  base::Counter dispatches_refused;  // whose times found no block, or were not taken over in time
};

}  // namespace lagwatch::trace
