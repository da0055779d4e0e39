// SPDX-License-Identifier: Apache-2.0
#include "watchdog/spans/busy_spans.h"

#include "base/clock.h"
#include "stack/threads/thread_counters.h"

namespace lagwatch::watchdog {

Span BusySpans::Read(const WatchedLoop& loop, int64_t now_ns, const SpanTools& tools) {
  Span span;
  span.thresholds.threshold_ns = loop.limits.ThresholdsOr(tools.options->thresholds()).threshold_ns;
  uint64_t dispatches = loop.probe.begun();
  if (!busy_.IsWorthReading(now_ns, dispatches, span.thresholds.threshold_ns)) return span;
  const int32_t tid = loop.tid.load();
  const int64_t cpu_ns = base::ThreadCpuNs(tid);
  stack::SchedulerCounters scheduler;
  if (cpu_ns >= 0 && stack::ReadSchedulerCounters(tid, &scheduler)) {
    busy_.Observe({now_ns, dispatches, cpu_ns + scheduler.run_queue_ns, scheduler.voluntary_switches},
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
