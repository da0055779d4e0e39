// SPDX-License-Identifier: Apache-2.0
#include "watchdog/spans/queue_spans.h"

namespace lagwatch::watchdog {

Span QueueSpans::ReadCounts(const TaskCounts& counts, int64_t now_ns, const Thresholds& thresholds) {
  // First the tasks run: tasks queued later do not matter yet.
  uint64_t run = counts.run();
  uint64_t queued = counts.queued();
  age_.Observe(now_ns, queued, run, thresholds.threshold_ns);
  return {.number = age_.number(),
          .begin_ns = age_.begin_ns(),
          .thresholds = thresholds,
          .read_again_within_ns = thresholds.threshold_ns / 5 * 2};
}

void QueueSpans::AddFacts(const WatchedLoop&, FactList* facts) const {
  facts->Add("queue_length", static_cast<int64_t>(age_.length()));
}

Span TaskSpans::Read(const WatchedLoop& loop, int64_t now_ns, const SpanTools& tools) {
  return ReadCounts(loop.tasks, now_ns, loop.limits.ThresholdsOr(tools.options->thresholds()));
}

Span InputSpans::Read(const WatchedLoop& loop, int64_t now_ns, const SpanTools& tools) {
  int64_t anr_ns = loop.limits.ThresholdsOr(tools.options->thresholds()).anr_threshold_ns;
  const Thresholds thresholds{tools.options->input_threshold_ns, anr_ns};
  return ReadCounts(loop.inputs, now_ns, thresholds.InRange());
}

}  // namespace lagwatch::watchdog
