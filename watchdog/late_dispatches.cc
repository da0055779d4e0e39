// SPDX-License-Identifier: Apache-2.0
// The part of LoopWatch for dispatches that were over before the watchdog could look at them. Real-time
// threads may keep it from every processor that it may use: then only what the loop's own thread has noted is
// certain.
#include <algorithm>

#include "watchdog/loop_watch.h"

namespace lagwatch::watchdog {
namespace {

// The whole number of a dispatch that is over, by its low half.
uint64_t WholeNumber(uint32_t low_half, uint64_t ended) {
  return ended - static_cast<uint32_t>(static_cast<uint32_t>(ended) - low_half);
}

// The CPU time that the thread has used in that dispatch at least; 0: it is not known.
int64_t LeastCpuNs(const DispatchHistory* notes, uint64_t number) {
  for (uint64_t at = notes == nullptr ? 0 : notes->count(), tries = 0; at != 0 && tries < 8; --at, ++tries) {
    DispatchHistory::Dispatch note;
    if (notes->ReadNumber(at, &note) && note.number == static_cast<uint32_t>(number))
      return std::max<int64_t>(note.cpu_ns - kCpuReadIntervalNs, 0);
  }
  return 0;
}

policies::Verdict VerdictByCpu(int64_t least_cpu_ns, int64_t duration_ns) {
  const bool is_cpu = least_cpu_ns > duration_ns / 2;
  return {.word = is_cpu ? policies::VerdictWord::kCpu : policies::VerdictWord::kUnknown, .shares = {}};
}

}  // namespace

bool LoopWatch::TryReportLate(WatchedSpan* span, const WatchedLoop& loop, const WatchTools& tools) {
  const SpanWatch& watch = span->watch;
  const bool is_dispatch = span == &spans_.dispatch;
  const bool is_late = watch.discounted().late_ns != 0;
  const bool is_blocked = watch.discounted().blocked_ns != 0;
  if (!is_late && !is_blocked) return false;
  const int64_t now_ns = tools.NowNs();
  // The ticks may have gone on while the machine slept, the clock has not.
  const int64_t duration_ns = std::min(
      span->MeasuredNs(loop, tools.span_tools()) - watch.discounted().stopped_ns, now_ns - watch.begin_ns());
  if (duration_ns < watch.threshold_ns() || IsForADebugger(now_ns, tools)) return false;
  policies::Verdict verdict{};
  if (is_dispatch && !is_blocked) {
    verdict = VerdictByCpu(LeastCpuNs(loop.probe.notes(), watch.number()), duration_ns);
    // A thread that has slept may have idled.
    if (loop.is_inferred.load() && verdict.word != policies::VerdictWord::kCpu) return false;
  }
  SampleList samples;
  if (watch.is_window_open()) samples = ring_.From(watch.first_sample(), tools);
  if (samples.empty()) {
    const LoopSample* sample =
        is_blocked ? ring_.AddWithoutStack(stack::NoStackReason::kLockedMemory, time_.AddNow(), now_ns, tools)
                   : ring_.AddWithoutStack(stack::NoStackReason::kLate, {}, now_ns, tools);
    if (sample == nullptr) return false;
    samples.Add(sample);
  }
  const bool has_account = is_blocked || watch.is_window_open();
  const bool is_by_account = has_account && verdict.word == policies::VerdictWord::kUnknown;
  reporter_.ReportEnded(span, loop, samples.all(), duration_ns, is_by_account ? nullptr : &verdict, tools);
  return true;
}

void LoopWatch::ReportUnseen(const WatchedLoop& loop, const WatchTools& tools) {
  const uint64_t ended = loop.probe.ended();
  for (const LongDispatch& dispatch : usage_.long_dispatches()) {
    const uint64_t number = WholeNumber(dispatch.note.number, ended);
    if (std::ranges::find(followed_, number) != followed_.end()) continue;  // Finish() reports or counts it
    if (!TryReportUnseen(dispatch, loop, tools)) tools.counters->hangs_ended_first.Add();
  }
}

bool LoopWatch::TryReportUnseen(const LongDispatch& dispatch, const WatchedLoop& loop,
                                const WatchTools& tools) {
  const policies::DiscountedTime& found = found_since_look_;
  const Thresholds thresholds = loop.limits.ThresholdsOr(tools.options->thresholds());
  const policies::CheckSchedule schedule{thresholds.threshold_ns, tools.options->sample_interval_ns,
                                         tools.options->ring_size};
  // The rest may be time in which the process did not run.
  const int64_t certain_ns =
      found.late_ns + found.blocked_ns + schedule.idle_sleep_ns() + policies::TimeDiscount::kStopToleranceNs;
  const int64_t duration_ns = std::min(dispatch.duration_ns, certain_ns);
  const int64_t now_ns = tools.NowNs();
  const bool was_kept_waiting = found.late_ns != 0 || found.blocked_ns != 0;
  if (!was_kept_waiting || duration_ns < thresholds.threshold_ns || IsForADebugger(now_ns, tools))
    return false;
  const uint64_t number = WholeNumber(dispatch.note.number, loop.probe.ended());
  const policies::Verdict verdict = VerdictByCpu(LeastCpuNs(loop.probe.notes(), number), duration_ns);
  if (loop.is_inferred.load() && verdict.word != policies::VerdictWord::kCpu) return false;
  const LoopSample* sample = ring_.AddWithoutStack(stack::NoStackReason::kLate, {}, now_ns, tools);
  if (sample == nullptr) return false;
  WatchedSpan span{spans_.dispatch.source};
  span.watch.Follow({.number = number, .begin_ns = dispatch.end_ns - duration_ns, .thresholds = thresholds},
                    *tools.options);
  span.watch.Discount({.late_ns = found.late_ns, .blocked_ns = found.blocked_ns});
  char tag[SpanWatch::kMaxTagBytes] = {};
  std::ranges::copy(dispatch.note.tag, tag);
  span.watch.SetTag(tag);
  usage_.CountHang(&span, duration_ns, tools);
  reporter_.ReportEnded(&span, loop, {&sample, 1}, duration_ns, &verdict, tools);
  reporter_.ReportEnd(span, duration_ns, tools);
  return true;
}

}  // namespace lagwatch::watchdog
