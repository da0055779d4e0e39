// SPDX-License-Identifier: Apache-2.0
#include "watchdog/queue_spans.h"

namespace lagwatch::watchdog {

Span QueueSpans::Read(const WatchedLoop& loop, int64_t now_ns, const SpanTools& tools) {
  // First what was run: what is queued later does not matter yet.
  uint64_t run = loop.tasks.run();
  uint64_t queued = loop.tasks.queued();
  if (queued == 0) return {};
  Span span;
  span.thresholds = loop.limits.ThresholdsOr(tools.options->thresholds());
  age_.Observe(now_ns, queued, run, span.thresholds.threshold_ns);
  span.number = age_.number();
  span.begin_ns = age_.begin_ns();
  span.read_again_within_ns = span.thresholds.threshold_ns / 2;
  return span;
}

void QueueSpans::AddFacts(const WatchedLoop&, FactList* facts) const {
  facts->Add("queue_length", static_cast<int64_t>(age_.length()));
}

}  // namespace lagwatch::watchdog
