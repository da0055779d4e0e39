// SPDX-License-Identifier: Apache-2.0
#include "watchdog/spans/probe_spans.h"

#include <algorithm>

#include "watchdog/events/hang_listener.h"

namespace lagwatch::watchdog {
namespace {

// A little under the threshold, because ticks and nanoseconds are converted with a small error and the
// duration of a dispatch that was called a hang must be on record.
uint64_t SlowTicks(int64_t threshold_ns, const SpanTools& tools) {
  constexpr int64_t kPercent = 98;
  return tools.tick_scale->ToTicks(threshold_ns / 100 * kPercent);
}

int64_t NoteNs(const WatchOptions& options) {
  bool is_sensitive =
      options.sensitive_ns != 0 && options.listener != nullptr && options.listener->WantsSensitive();
  return is_sensitive ? std::min(options.sensitive_ns, options.slow_dispatch_ns) : options.slow_dispatch_ns;
}

}  // namespace

void SetProbeLimits(WatchedLoop* loop, const SpanTools& tools) {
  // Shorter ones would fill the history in no time, and a note costs about a microsecond.
  constexpr int64_t kShortestInHistoryNs = 1 * base::kNsPerMs;
  constexpr int64_t kCpuReadIntervalNs = 100 * base::kNsPerMs;
  const WatchOptions& options = *tools.options;
  int64_t threshold_ns = loop->limits.ThresholdsOr(options.thresholds()).threshold_ns;
  loop->probe.SetLimits({.slow_ticks = SlowTicks(threshold_ns, tools),
                         .history_ticks = tools.tick_scale->ToTicks(kShortestInHistoryNs),
                         .cpu_ticks = tools.tick_scale->ToTicks(options.slow_dispatch_ns),
                         .note_ticks = tools.tick_scale->ToTicks(NoteNs(options)),
                         .cpu_read_interval_ticks = tools.tick_scale->ToTicks(kCpuReadIntervalNs)});
  loop->frames.SetSlowNs(options.slow_frame_ns == 0 ? INT64_MAX : options.slow_frame_ns);
  loop->idle_handler.SetLimits({.slow_ticks = SlowTicks(options.idle_handler_threshold_ns, tools)});
}

int64_t SpanTools::BeginNs(uint64_t begin_ticks, int64_t now_ns) const {
  if (begin_ticks == LoopProbe::kUntimed) return now_ns;
  base::TickPair now = base::ReadTickPair(*clock);
  // Another processor's counter may be a little behind.
  uint64_t age_ticks = now.ticks > begin_ticks ? now.ticks - begin_ticks : 0;
  return now.mono_ns - tick_scale->ToNs(age_ticks);
}

Span ProbeSpans::ReadProbe(const WatchedLoop& loop, int64_t now_ns, const Thresholds& thresholds,
                           const SpanTools& tools) const {
  const LoopProbe::Dispatch dispatch = (loop.*probe_).Read();
  // At the last look a new one had not begun, whatever the ticks say, which go on while the machine sleeps.
  return {.number = dispatch.number,
          .begin_ns = dispatch.number == 0
                          ? 0
                          : std::max(tools.BeginNs(dispatch.begin_ticks, now_ns), tools.last_look_ns),
          .thresholds = thresholds,
          .tag = dispatch.tag};
}

int64_t ProbeSpans::DurationNs(uint64_t number, const WatchedLoop& loop, const SpanTools& tools) const {
  return tools.tick_scale->ToNs((loop.*probe_).SlowDurationTicks(number));
}

Span DispatchSpans::Read(const WatchedLoop& loop, int64_t now_ns, const SpanTools& tools) {
  return ReadProbe(loop, now_ns, loop.limits.ThresholdsOr(tools.options->thresholds()), tools);
}

Span IdleHandlerSpans::Read(const WatchedLoop& loop, int64_t now_ns, const SpanTools& tools) {
  if (loop.idle_handler.begun() == 0) return {};
  return ReadProbe(loop, now_ns, {tools.options->idle_handler_threshold_ns, 0}, tools);
}

}  // namespace lagwatch::watchdog
