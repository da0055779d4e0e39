// SPDX-License-Identifier: Apache-2.0
#include "watchdog/hang_reporter.h"

#include <algorithm>
#include <array>
#include <iterator>

#include "base/clock.h"
#include "base/uuid.h"
#include "policies/fact_names.h"
#include "watchdog/facts/file_facts.h"
#include "watchdog/loops/outside_looks.h"
#include "watchdog/report_facts.h"
#include "watchdog/sample_ring.h"
#include "watchdog/samples/past_dispatches.h"
#include "watchdog/spans/awaited.h"

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

// The waits of a report. A running thread may have answered only one of the report's two looks at it, that at
// the waits and that at all threads: each has the other's stacks.
class ReportedWaits {
 public:
  std::span<const Wait> Read(const WaitWalker& walker, ThreadLister* threads) {
    const std::span<const Wait> waits = walker.waits();
    std::ranges::copy(waits, waits_.begin());
    threads->AddStacks(waits);
    for (size_t i = 0; i < waits.size(); ++i) AddOwnersStack(threads->threads(), &waits_[i]);
    return {waits_.data(), waits.size()};
  }

 private:
  static void AddOwnersStack(std::span<const ThreadSnapshot* const> threads, Wait* wait) {
    const bool has_stack = wait->owner_frames != nullptr && wait->owner_frames->frame_count != 0;
    if (has_stack || wait->lock.waits_for != stack::WaitsFor::kOwner || wait->owner_pid != 0) return;
    const auto owner = std::ranges::find(threads, wait->lock.owner_tid, &ThreadSnapshot::tid);
    if (owner != threads.end()) wait->owner_frames = &(*owner)->stack;
  }

  std::array<Wait, WaitWalker::kMaxWaits> waits_;
};

// Of the thread or, if it waits for another one of the process, of the last one of the chain.
AwaitedFile FileOf(int32_t tid, const WatchTools& tools) {
  const stack::ThreadFiles* files = &tools.capturer->thread_files();
  const AwaitedFile file = FindAwaitedFile(tools.thread(tid), files);
  const std::span<const Wait> waits = tools.waits->waits();
  if (file.tid != 0 || waits.empty()) return file;
  const bool has_owner =
      waits.back().lock.waits_for == stack::WaitsFor::kOwner && waits.back().owner_pid == 0;
  return has_owner ? FindAwaitedFile(tools.thread(waits.back().lock.owner_tid), files) : file;
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

// The facts borrow the texts of `candidates`.
void AddCandidateFacts(const Candidates& candidates, FactList* facts) {
  static_assert(Candidates::kMost == std::size(policies::kCandidateFacts));
  for (size_t i = 0; i < candidates.count; ++i) {
    const Candidate& candidate = candidates.best[i];
    const policies::CandidateFacts& names = policies::kCandidateFacts[i];
    facts->Add(names.thread, candidate.tid);
    facts->AddText(names.name, candidate.name);
    facts->AddText(names.reason, candidate.reason);
    if (candidate.count > 1) facts->Add(names.count, candidate.count);
  }
  if (candidates.exhausted_pool_threads != 0)
    facts->Add(policies::kExhaustedPoolFact, candidates.exhausted_pool_threads);
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
  HangListener* listener = tools.options->listener;
  if (listener == nullptr) return;
  const HangNotice notice = Notice(*span, now_ns - watch.begin_ns());
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
  Report(span, loop, samples, expensive, end_ns, verdict, tools);
  if (HangListener* listener = tools.options->listener) listener->OnHangBegin(Notice(*span, duration_ns));
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
  Awaited awaited;
  AwaitedFile file;
  if (!is_correction) {
    tools.counters->waits_changed.Add(tools.waits->Follow(tid, tools.capturer));
    awaited = FindAwaited(tools.thread(tid), &tools.capturer->thread_files());
    file = FileOf(tid, tools);
  }
  const bool is_still_in = !is_correction && span->IsStillIn(loop) && !tools.has_ended();
  if (!is_still_in) {  // it waits for something else by now
    tools.waits->Clear();
    awaited = {};
    file = {};
  }
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
  ReportedWaits waits;
  event.waits = waits.Read(*tools.waits, tools.threads);
  event.wait_outcome = tools.waits->outcome();
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
  AddAwaitedFacts(awaited, &facts);
  AddFileFacts(file, tid, tools.options->hides_peers, &facts);
  AddCandidateFacts(tools.waits->candidates(), &facts);
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
  AddThreadFacts(tid, tools, &facts);
  AddProcessFacts(tools, &facts);
  event.facts = facts.all();
  PastDispatchRoom room;
  event.history = ReadPastDispatches(loop.probe.history(), *tools.tick_scale, *tools.clock, &room);
  event.modules = &tools.capturer->modules();
  event.script_functions = &tools.capturer->code().script_functions();
  event.peer_functions = tools.waits->peer_functions();
  event.discounted = watch.discounted();
  if (!tools.sink->OnHang(event)) {
    tools.counters->reports_lost.Add();
    return false;
  }
  if (span->kind() == HangKind::kHang) NoteBlame(watch, expensive);
  watch.AddReport(event.id);
  tools.counters->reports.Add();
  if (is_still_in &&
      tools.waits->FollowPeers(tid, tools.capturer, tools.options->hides_peers, watch.begin_ns())) {
    event.waits = waits.Read(*tools.waits, tools.threads);
    event.wait_outcome = tools.waits->outcome();
    if (const BusCall* call = tools.waits->bus_call()) {
      if (!tools.options->hides_peers) {
        facts.AddText(policies::kBusServiceFact, call->destination);
        facts.AddText(policies::kBusMethodFact, call->member);
        event.facts = facts.all();
      }
      // The thread itself only waits to be woken up by the one that has the socket.
      if (event.verdict.word == policies::VerdictWord::kNetwork ||
          event.verdict.word == policies::VerdictWord::kLock)
        event.verdict.word = policies::VerdictWord::kService;
    }
    if (event.wait_outcome == WaitOutcome::kDeadlock) event.verdict.word = policies::VerdictWord::kDeadlock;
    tools.sink->OnPeers(event);
  }
  return true;
}

}  // namespace lagwatch::watchdog
