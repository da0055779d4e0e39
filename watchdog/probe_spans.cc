// SPDX-License-Identifier: Apache-2.0
#include "watchdog/probe_spans.h"

namespace lagwatch::watchdog {

int64_t SpanTools::BeginNs(uint64_t begin_ticks, int64_t now_ns) const {
  if (begin_ticks == LoopProbe::kUntimed) return now_ns;
  base::TickPair now = base::ReadTickPair(*clock);
  // Another processor's counter may be a little behind.
  uint64_t age_ticks = now.ticks > begin_ticks ? now.ticks - begin_ticks : 0;
  return now.mono_ns - tick_scale->ToNs(age_ticks);
}

Span DispatchSpans::Read(const WatchedLoop& loop, int64_t now_ns, const SpanTools& tools) {
  const LoopProbe::Dispatch dispatch = loop.probe.Read();
  return {.number = dispatch.number,
          .begin_ns = dispatch.number == 0 ? 0 : tools.BeginNs(dispatch.begin_ticks, now_ns),
          .thresholds = loop.limits.ThresholdsOr(tools.options->thresholds()),
          .tag = dispatch.tag};
}

int64_t DispatchSpans::DurationNs(uint64_t number, const WatchedLoop& loop, const SpanTools& tools) const {
  return tools.tick_scale->ToNs(loop.probe.SlowDurationTicks(number));
}

}  // namespace lagwatch::watchdog
