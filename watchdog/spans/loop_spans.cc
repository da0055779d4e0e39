// SPDX-License-Identifier: Apache-2.0
#include "watchdog/spans/loop_spans.h"

#include <algorithm>

#include "base/clock.h"
#include "stack/threads/thread_counters.h"
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

// The limit for dispatches of that duration, or for hangs if these are shorter.
uint64_t TicksOrSlow(int64_t duration_ns, int64_t threshold_ns, const SpanTools& tools) {
  const uint64_t ticks = tools.tick_scale->ToTicks(duration_ns);
  return threshold_ns == 0 ? ticks : std::min(ticks, SlowTicks(threshold_ns, tools));
}

}  // namespace

void SetProbeLimits(WatchedLoop* loop, const SpanTools& tools) {
  // Shorter ones would fill the history in no time, and a note costs about a microsecond.
  constexpr int64_t kShortestInHistoryNs = 1 * base::kNsPerMs;
  const WatchOptions& options = *tools.options;
  int64_t threshold_ns = loop->limits.ThresholdsOr(options.thresholds()).threshold_ns;
  loop->probe.SetLimits({.slow_ticks = SlowTicks(threshold_ns, tools),
                         .history_ticks = tools.tick_scale->ToTicks(kShortestInHistoryNs),
                         .cpu_ticks = TicksOrSlow(options.slow_dispatch_ns, threshold_ns, tools),
                         .note_ticks = TicksOrSlow(NoteNs(options), threshold_ns, tools),
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

Span ScopeSpans::Read(const WatchedLoop& loop, int64_t now_ns, const SpanTools& tools) {
  int64_t shortest_ns = loop.scopes.shortest_deadline_ns();
  Span first;
  if (shortest_ns == INT64_MAX) return first;
  first.thresholds.threshold_ns = shortest_ns;
  for (size_t depth = 0; depth < LoopScopes::kMaxDepth; ++depth) {
    const LoopScopes::Scope scope = loop.scopes.Read(depth);
    if (scope.number == 0) continue;
    int64_t begin_ns = tools.BeginNs(scope.begin_ticks, now_ns);
    bool is_first =
        first.number == 0 || begin_ns + scope.deadline_ns < first.begin_ns + first.thresholds.threshold_ns;
    if (is_first)
      first = {
          .number = scope.number, .begin_ns = begin_ns, .thresholds = {scope.deadline_ns}, .tag = scope.name};
  }
  first.read_again_within_ns = shortest_ns / 2;  // a shorter one may begin inside it
  return first;
}

Span BusySpans::Read(const WatchedLoop& loop, int64_t now_ns, const SpanTools& tools) {
  Span span;
  span.thresholds.threshold_ns = loop.limits.ThresholdsOr(tools.options->thresholds()).threshold_ns;
  uint64_t dispatches = loop.probe.begun();
  if (!busy_.IsWorthReading(now_ns, dispatches, span.thresholds.threshold_ns)) return span;
  const base::Thread thread{tools.process, loop.tid.load()};
  const int64_t cpu_ns = thread.CpuNs();
  stack::SchedulerCounters scheduler;
  if (cpu_ns >= 0 && stack::ReadSchedulerCounters(thread, &scheduler)) {
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
