// SPDX-License-Identifier: Apache-2.0
#include "watchdog/hang_reporter.h"

#include <algorithm>

#include "base/clock.h"
#include "base/uuid.h"
#include "policies/fact_names.h"
#include "watchdog/loops/outside_looks.h"
#include "watchdog/report_facts.h"
#include "watchdog/reported_waits.h"
#include "watchdog/sample_ring.h"
#include "watchdog/samples/past_dispatches.h"

namespace lagwatch::watchdog {
namespace {

// The reason why a check ended without a report that is kept.
FilterReason ReasonOf(SpanWatch::Outcome outcome) {
  switch (outcome) {
    case SpanWatch::Outcome::kUnchanged:
      return FilterReason::kUnchangedStack;
    case SpanWatch::Outcome::kOverLimit:
      return FilterReason::kReportLimit;
    case SpanWatch::Outcome::kReport:
      break;
  }
  return FilterReason::kReportLost;
}

uint64_t HashOf(const stack::Stack& stack) {
  return stack.frame_count == 0 ? SpanWatch::kNoStack : stack.FunctionHash();
}

void AddProcessorUsers(const ThreadTime& time, const WatchTools& tools, FactList* facts) {
  ProcessorUsers* users = tools.processor_users;
  const int64_t since_ns = users == nullptr ? 0 : time.StarvedSinceNs();
  if (since_ns == 0) return;
  const char* text = users->Describe(since_ns, tools.process(), tools.options->hides_peers);
  if (*text == '\0') return;
  facts->AddText(policies::kProcessorUsersFact, text);
  if (users->unseen_permille() >= 0) facts->Add(policies::kProcessorsUnseenFact, users->unseen_permille());
  if (users->stolen_permille() > 0) facts->Add(policies::kProcessorsStolenFact, users->stolen_permille());
}

// From the first window on, by clocks that are all read now: the span may have been over for a while. All are
// 0 where no window was opened, or where they say nothing yet.
void SetCpuTimes(const CpuBaseline& before, const base::Thread& thread, const base::Clock& clock,
                 HangEvent* event) {
  constexpr int64_t kShortestNs = base::kNsPerMs;
  if (before.mono_ns == 0) return;
  const int64_t thread_ns = thread.CpuNs() - before.thread_cpu_ns;
  const int64_t process_ns = thread.process.CpuNs() - before.process_cpu_ns;
  const int64_t window_ns = clock.MonoNs() - before.mono_ns;
  if (window_ns < kShortestNs) return;
  event->cpu_window_ns = window_ns;
  event->cpu_thread_ns = std::max<int64_t>(thread_ns, 0);
  event->cpu_process_ns = std::max<int64_t>(process_ns, 0);
}

}  // namespace

namespace {

void NoteHang(const HangNotice& notice, const WatchTools& tools) {
  LoopObserver* observer = tools.registry == nullptr ? nullptr : tools.registry->observer();
  if (observer != nullptr) observer->OnHang(notice);
}

}  // namespace

void HangReporter::ReportCheck(WatchedSpan* span, const WatchedLoop& loop,
                               std::span<const LoopSample* const> samples, int64_t now_ns,
                               const WatchTools& tools) {
  SpanWatch& watch = span->watch;
  const stack::Stack& expensive = PickExpensiveSample(samples, tools.options->expensive_stack_rule).stack;
  const bool was_hanging = watch.is_hanging();
  const HangLevel level_before = watch.level();
  if (!was_hanging) tools.counters->hangs.Add();
  const SpanWatch::Outcome outcome = watch.Check(HashOf(expensive), now_ns, *tools.options);
  bool is_kept = outcome == SpanWatch::Outcome::kReport &&
                 Report(span, loop, samples, expensive, now_ns, nullptr, tools);
  if (outcome == SpanWatch::Outcome::kUnchanged) tools.counters->unchanged_checks.Add();
  if (outcome == SpanWatch::Outcome::kOverLimit) tools.counters->reports_over_hang_limit.Add();
  if (!was_hanging) NoteHang(Notice(*span, now_ns - watch.begin_ns()), tools);
  HangListener* listener = tools.options->listener;
  if (listener == nullptr) return;
  HangNotice notice = Notice(*span, now_ns - watch.begin_ns());
  if (is_kept) notice.text = tools.sink->LastText();
  if (!was_hanging || watch.level() != level_before) listener->OnHangBegin(notice);
  if (!is_kept) listener->OnFiltered(notice, ReasonOf(outcome));
}

void HangReporter::ReportEnded(WatchedSpan* span, const WatchedLoop& loop,
                               std::span<const LoopSample* const> samples, int64_t duration_ns,
                               const policies::Verdict* verdict, const WatchTools& tools) {
  const stack::Stack& expensive = PickExpensiveSample(samples, tools.options->expensive_stack_rule).stack;
  const int64_t end_ns = span->watch.begin_ns() + duration_ns;
  tools.counters->hangs.Add();
  span->watch.Check(HashOf(expensive), end_ns, *tools.options);
  const bool is_kept = Report(span, loop, samples, expensive, end_ns, verdict, tools);
  NoteHang(Notice(*span, duration_ns), tools);
  HangListener* listener = tools.options->listener;
  if (listener == nullptr) return;
  HangNotice notice = Notice(*span, duration_ns);
  if (is_kept) notice.text = tools.sink->LastText();
  listener->OnHangBegin(notice);
}

void HangReporter::ReportEnd(const WatchedSpan& span, int64_t duration_ns, const WatchTools& tools) const {
  for (const base::Uuid& id : span.watch.report_ids()) tools.sink->OnHangEnd(id, duration_ns);
  if (HangListener* listener = tools.options->listener) listener->OnHangEnd(Notice(span, duration_ns));
}

void HangReporter::CountSuppressed(const WatchedSpan& span, const WatchedLoop& loop,
                                   const WatchTools& tools) const {
  const SpanWatch& watch = span.watch;
  const policies::DiscountedTime& discounted = watch.discounted();
  const int64_t measured_ns = span.MeasuredNs(loop, tools.span_tools());
  const int64_t elapsed_ns = tools.NowNs() - watch.begin_ns();
  auto is_hang = [&](int64_t duration_ns) { return duration_ns >= watch.threshold_ns(); };
  WatchCounters& counters = *tools.counters;
  if (measured_ns != 0 && is_hang(std::min(measured_ns - discounted.stopped_ns, elapsed_ns)))
    return counters.hangs_ended_first.Add();
  const HangKind kind = span.kind();
  if (kind == HangKind::kBusyLoop) return;  // nothing has begun before it is found
  // It may have been over long before this look; but a timed dispatch of that length has a measure.
  if (kind == HangKind::kHang && loop.probe.is_timed() && measured_ns == 0) return;
  if (discounted.stopped_ns != 0 && is_hang(elapsed_ns + discounted.stopped_ns))
    return counters.hangs_stopped.Add();
  if (discounted.suspended_ns != 0 && is_hang(elapsed_ns + discounted.suspended_ns))
    counters.hangs_suspended.Add();
}

HangNotice HangReporter::Notice(const WatchedSpan& span, int64_t elapsed_ns) const {
  return {.loop_name = thread_->loop_name,
          .tag = span.watch.tag(),
          .tid = thread_->tid,
          .kind = span.kind(),
          .level = span.watch.level(),
          .threshold_ns = span.watch.threshold_ns(),
          .elapsed_ns = elapsed_ns};
}

bool HangReporter::Report(WatchedSpan* span, const WatchedLoop& loop,
                          std::span<const LoopSample* const> samples, const stack::Stack& expensive,
                          int64_t now_ns, const policies::Verdict* verdict, const WatchTools& tools,
                          Moment moment) {
  SpanWatch& watch = span->watch;
  int32_t tid = loop.tid.load();
  int64_t wall_ms = tools.clock->WallMs();
  HangEvent event{};
  event.id = base::CreateUuidV7(wall_ms);
  event.hang_id = watch.report_ids().empty() ? event.id : watch.report_ids().front();
  event.ordinal = static_cast<uint32_t>(watch.report_ids().size());
  event.kind = span->kind();
  event.level = watch.level();
  event.loop = thread_->loop_name;
  event.tag = watch.tag();
  event.tid = static_cast<uint32_t>(tid);
  event.threshold_ms = static_cast<uint32_t>(watch.threshold_ns() / base::kNsPerMs);
  event.elapsed_ns = now_ns - watch.begin_ns();
  event.start_wall_ms = wall_ms - event.elapsed_ns / base::kNsPerMs;
  event.detected_mono_ns = now_ns;
  SetCpuTimes(watch.cpu_baseline(), tools.thread(tid), *tools.clock, &event);
  const bool is_correction = moment == Moment::kCorrection;
  ReportedWaits waits;
  if (!is_correction) waits.Find(tid, tools);
  const bool is_still_in = !is_correction && span->IsStillIn(loop) && !tools.has_ended();
  if (!is_still_in) waits.Clear(tools);  // it waits for something else by now
  if (is_correction) {
    tools.threads->Clear();
  } else {
    tools.threads->Capture(tid, expensive, tools.capturer);
  }
  tools.counters->thread_stacks_reused.Add(tools.threads->reused_count());
  event.samples = samples;
  event.expensive_stack = &expensive;
  event.threads = tools.threads->threads();
  event.threads_dropped = tools.threads->dropped_count();
  waits.AddTo(&event, tools);
  event.verdict = verdict != nullptr ? *verdict : time_->Judge(*span, loop, event.wait_outcome);
  FactList facts;
  if (loop.limits.weight() != 0) facts.Add("loop_weight", loop.limits.weight());
  span->source->AddFacts(loop, &facts);
  AddNoStackFacts(samples, &facts);
  if (const char* runtime = tools.capturer->unreadable_scripts(); *runtime != '\0')
    facts.AddText("unreadable_frames", runtime);
  AddTaskFacts(expensive, tools, &facts);
  if (const char* cause = event.verdict.shares.gc_ns == 0 ? "" : tools.capturer->GcCause(); *cause != '\0')
    facts.AddText("gc_cause", cause);
  waits.AddFacts(tools, &facts);
  const policies::VerdictWord with_processor = policies::JudgeWithProcessor(event.verdict.shares);
  const bool is_starved = event.verdict.word == policies::VerdictWord::kStarved ||
                          event.verdict.word == policies::VerdictWord::kThrottled;
  if (is_starved && with_processor != policies::VerdictWord::kUnknown)
    facts.AddText(policies::kWithProcessorFact, policies::VerdictName(with_processor));
  if (event.verdict.word == policies::VerdictWord::kStarved) AddProcessorUsers(*time_, tools, &facts);
  if (watch.discounted().blocked_ns != 0)
    facts.Add("watchdog_blocked_ms", watch.discounted().blocked_ns / base::kNsPerMs);
  if (watch.discounted().late_ns != 0)
    facts.Add("watchdog_late_ms", watch.discounted().late_ns / base::kNsPerMs);
  facts.Add(policies::kOwnThreadsFact, tools.threads->own_count());
  // A correction is made when the window has answered again.
  if (!is_correction) had_unanswered_window_ = window_is_unanswered.load(std::memory_order_relaxed);
  if (had_unanswered_window_) facts.AddText("window_ping", "unanswered");
  const Schedule schedule = AddThreadFacts(tid, tools, &facts);
  schedule_.AddChanges(schedule, tools.thread(tid), tools.clock->MonoNs(), &tools.capturer->code(), &facts);
  AddProcessFacts(tools, &facts);
  event.facts = facts.all();
  PastDispatchRoom room;
  event.history = ReadPastDispatches(loop.probe.history(), *tools.tick_scale, *tools.clock,
                                     tools.capturer->modules(), &room);
  event.modules = &tools.capturer->modules();
  event.script_functions = &tools.capturer->code().script_functions();
  event.discounted = watch.discounted();
  if (!tools.sink->OnHang(event)) {
    tools.counters->reports_lost.Add();
    return false;
  }
  if (span->kind() == HangKind::kHang) NoteBlame(watch, expensive);
  watch.AddReport(event.id);
  tools.counters->reports.Add();
  if (is_still_in && waits.FollowPeers(watch.begin_ns(), tools, &facts, &event)) tools.sink->OnPeers(event);
  return true;
}

}  // namespace lagwatch::watchdog
