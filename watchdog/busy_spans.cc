// SPDX-License-Identifier: Apache-2.0
#include "watchdog/busy_spans.h"

#include "watchdog/thread_run_time.h"

namespace lagwatch::watchdog {

Span BusySpans::Read(const WatchedLoop& loop, int64_t now_ns, const SpanTools& tools) {
  Span span;
  span.thresholds.threshold_ns = loop.limits.ThresholdsOr(tools.options->thresholds()).threshold_ns;
  uint64_t dispatches = loop.probe.begun();
  if (!busy_.IsWorthReading(now_ns, dispatches, span.thresholds.threshold_ns)) return span;
  ThreadRunTime run_time;
  if (ReadThreadRunTime(loop.tid.load(), &run_time)) {
    busy_.Observe({now_ns, dispatches, run_time.runnable_ns, run_time.voluntary_switches},
                  span.thresholds.threshold_ns);
  } else {
    busy_.Rest();
  }
  span.number = busy_.number();
  span.begin_ns = busy_.begin_ns();
  span.read_again_within_ns = span.thresholds.threshold_ns / 5 * 2;
  return span;
}

void BusySpans::AddFacts(const WatchedLoop&, FactList* facts) const {
  facts->Add("dispatches", static_cast<int64_t>(busy_.dispatches()));
}

}  // namespace lagwatch::watchdog
