// SPDX-License-Identifier: Apache-2.0
#include "watchdog/loop_watch.h"

#include <algorithm>
#include <utility>

#include "base/clock.h"
#include "base/process/safe_memory.h"
#include "policies/check_schedule.h"
#include "stack/threads/thread_state.h"
#include "watchdog/loops/dispatch_tag.h"
#include "watchdog/loops/outside_looks.h"

namespace lagwatch::watchdog {
namespace {

constexpr int64_t kNever = INT64_MAX;

// From outside, a dispatch is known to last so long only by a look that was made then.
bool IsOverThreshold(const SpanWatch& watch, const base::Process& process) {
  return process.is_own() ||
         outside_looked_ns.load(std::memory_order_acquire) >= watch.begin_ns() + watch.threshold_ns();
}

}  // namespace

void LoopWatch::BeginLoop(const WatchedLoop& loop, const WatchTools& tools) {
  loop.CopyName(thread_.loop_name);
  thread_.tid = loop.tid.load();
  idle_places_.BeginLoop(loop.begun_before.load(), tools.NowNs());
  thread_.files = &tools.capturer->thread_files();
  thread_.capturer = tools.capturer;
  thread_.process = tools.process();
  is_thread_kept_ = thread_.files->Keep(thread_.thread());
  reporter_.BeginLoop(tools.NowNs());
}

int64_t LoopWatch::Look(WatchedLoop* loop, const WatchTools& tools) {
  uint32_t generation = loop->generation.load(std::memory_order_acquire);  // pairs with the registry's stores
  if (generation != generation_) {
    const int64_t late_ns = found_since_look_.late_ns;
    Forget(*loop, tools);
    found_since_look_.late_ns = late_ns;  // the new loop may have had a first dispatch meanwhile
    generation_ = generation;
    BeginLoop(*loop, tools);
  }
  const int64_t now_ns = tools.NowNs();
  const Thresholds thresholds = loop->limits.ThresholdsOr(tools.options->thresholds());
  const bool has_moved =
      usage_.was_background() == tools.is_foreground();  // the time before is counted in the earlier state
  if (thresholds == last_thresholds_ && !has_moved && IsAllAsBefore(*loop, now_ns)) {
    const bool is_sample_due = is_window_open_ && now_ns >= ring_.next_sample_ns();
    if (is_sample_due) {
      ring_.Take(*loop, now_ns, false, tools);
    } else {
      ring_.Collect(*loop, SampleRing::Patience::kKeepAsking, tools);
      time_.ReadActivity();
    }
    WeighSamples(tools);
    for (WatchedSpan* span : spans_.all()) {
      const SpanWatch& watch = span->watch;
      if (watch.is_hanging()) usage_.CountHang(span, now_ns - watch.begin_ns(), tools);
    }
    return NextLookNs(now_ns, tools);
  }
  ring_.Collect(*loop, SampleRing::Patience::kKeepAsking, tools);
  time_.ReadActivity();
  last_thresholds_ = thresholds;
  SetProbeLimits(loop, tools.span_tools());

  int64_t next_ns = kNever;
  idle_sleep_ns_ = kNever;
  bool is_check_due = false;
  is_window_open_ = false;
  for (WatchedSpan* span : spans_.all()) {
    next_ns = std::min(next_ns, Follow(span, *loop, now_ns, tools));
    is_window_open_ |= span->watch.is_window_open();
    is_check_due |= span->watch.is_window_open() && span->watch.IsCheckDue(now_ns);
  }
  if (found_since_look_.stopped_ns != 0) frame_counts_.Distrust(*loop);
  frame_counts_.Report(*loop, thread_.loop_name, now_ns, tools.sink);
  CollectUsage(*loop, tools);
  found_since_look_ = {};
  last_look_ns_ = now_ns;
  reporter_.LookAtThread(now_ns);
  const uint64_t begun = loop->probe.begun();
  has_begun_nothing_ = std::exchange(last_begun_, begun) == begun;
  if (is_window_open_ && (now_ns >= ring_.next_sample_ns() || is_check_due))
    ring_.Take(*loop, now_ns, is_check_due, tools);
  for (WatchedSpan* span : spans_.all()) {
    const SpanWatch& watch = span->watch;
    if (watch.number() == 0 || IsReportedByDispatch(*span)) continue;
    if (watch.IsCheckDue(now_ns)) Check(span, *loop, now_ns, tools);
    next_ns = std::min(next_ns, watch.NextLookNs());
    if (watch.is_hanging()) usage_.CountHang(span, now_ns - watch.begin_ns(), tools);
  }
  WeighSamples(tools);
  is_window_open_ = spans_.IsAnyWindowOpen();  // checks close theirs
  next_whole_look_ns_ = std::min(next_ns, now_ns + tools.options->check_period_ns);
  ReleaseUnused(*loop, tools);
  return NextLookNs(now_ns, tools);
}

bool LoopWatch::IsAllAsBefore(const WatchedLoop& loop, int64_t now_ns) const {
  return (is_window_open_ || IsHanging()) && now_ns < next_whole_look_ns_ && found_since_look_.is_clean() &&
         std::ranges::all_of(spans_.all(), [&](const WatchedSpan* span) {
           const bool is_seen_between = !span->watch.is_hanging() || span->source->IsEndSeenBetweenLooks();
           return span->watch.number() == 0 || (is_seen_between && span->IsStillIn(loop));
         });
}

int64_t LoopWatch::NextLookNs(int64_t now_ns, const WatchTools& tools) const {
  int64_t next_ns = next_whole_look_ns_;
  if (is_window_open_) next_ns = std::min(next_ns, ring_.next_sample_ns());
  // The end of a hang is to be on record soon, whatever the next check's date.
  if (IsHanging()) next_ns = std::min(next_ns, now_ns + tools.options->sample_interval_ns);
  return next_ns;
}

void LoopWatch::WeighSamples(const WatchTools& tools) {
  if (spans_.dispatch.watch.is_hanging()) reporter_.WeighSamples(spans_.dispatch.watch, ring_, tools);
}

void LoopWatch::ReleaseUnused(const WatchedLoop& loop, const WatchTools& tools) {
  if (is_window_open_ || IsHanging()) return;
  reporter_.ReleaseUnused();
  if (std::exchange(keeps_thread_files_, false)) thread_.files->ReleaseOthers(thread_.tid);
  const bool keeps_samples = idle_places_.IsUnproven(spans_.dispatch.watch.number());
  if (keeps_samples || tools.rings == nullptr) return;
  ring_.Collect(loop, SampleRing::Patience::kGiveUp, tools);  // an answer would be written to the ring
  ring_.GiveRoomBack(tools.rings);
}

void LoopWatch::Discount(const policies::DiscountedTime& process_findings) {
  policies::DiscountedTime findings = process_findings;
  if (findings.stopped_ns != 0 && time_.HasBeenActive(findings.stopped_ns))
    findings.blocked_ns += std::exchange(findings.stopped_ns, 0);
  found_since_look_ += findings;
  time_.Discount(findings.stopped_ns);
  for (WatchedSpan* span : spans_.all()) span->watch.Discount(findings);
}

bool LoopWatch::IsQuiet(const WatchedLoop& loop) const {
  bool may_wait_unseen = loop.tasks.queued() != 0 || loop.inputs.queued() != 0 ||
                         loop.idle_handler.begun() != 0 || loop.scopes.shortest_deadline_ns() != INT64_MAX;
  return has_begun_nothing_ && !may_wait_unseen && frame_counts_.IsQuiet(loop, last_look_ns_) &&
         spans_.IsEmpty();
}

void LoopWatch::FinishIfOver(const WatchedLoop& loop, const WatchTools& tools) {
  for (WatchedSpan* span : spans_.all()) {
    if (span->watch.number() != 0 && !span->IsStillIn(loop)) Finish(span, loop, tools);
  }
  if (generation_ != 0) frame_counts_.Report(loop, thread_.loop_name, tools.NowNs(), tools.sink);
}

void LoopWatch::FinishHangs(const WatchedLoop& loop, const WatchTools& tools) {
  ring_.Collect(loop, SampleRing::Patience::kGiveUp, tools);
  for (WatchedSpan* span : spans_.all()) {
    const bool is_unproven = span == &spans_.dispatch && !span->watch.is_hanging() &&
                             idle_places_.IsProvenByEnd(span->watch.number()) && !IsStillAsleep(loop, tools);
    if (span->watch.is_hanging() || is_unproven) Finish(span, loop, tools);
  }
}

void LoopWatch::CollectUsage(const WatchedLoop& loop, const WatchTools& tools) {
  if (generation_ == 0) return;
  usage_.Collect(loop, found_since_look_.stopped_ns, last_look_ns_, tools);
  ReportUnseen(loop, tools);
}

void LoopWatch::Forget(const WatchedLoop& loop, const WatchTools& tools) {
  ring_.Collect(loop, SampleRing::Patience::kGiveUp, tools);
  has_returned_ = false;
  for (WatchedSpan* span : spans_.all()) {
    // The probe continues its numbers for the next owner of the place, so its record of this dispatch
    // is still found.
    if (span->watch.number() != 0) Finish(span, loop, tools);
    span->source->Forget();
  }
  has_returned_ = true;
  if (generation_ != 0) frame_counts_.Report(loop, thread_.loop_name, tools.NowNs(), tools.sink);
  CollectUsage(loop, tools);
  if (generation_ == 0 && !loop.is_in_use()) SkipWhatWasBefore(loop);
  if (std::exchange(is_thread_kept_, false)) thread_.files->Release(thread_.tid);
  keeps_thread_files_ = false;
  if (tools.rings != nullptr) ring_.GiveRoomBack(tools.rings);
  usage_.Forget();
  generation_ = 0;
  last_look_ns_ = 0;
  next_whole_look_ns_ = 0;
  found_since_look_ = {};
}

int64_t LoopWatch::Follow(WatchedSpan* watched, const WatchedLoop& loop, int64_t now_ns,
                          const WatchTools& tools) {
  const WatchOptions& options = *tools.options;
  SpanWatch& watch = watched->watch;
  if (IsReportedByDispatch(*watched)) {
    watch.End();
    watched->source->Forget();
    return kNever;
  }
  Span span = watched->source->Read(loop, now_ns, tools.span_tools(last_look_ns_));
  if (watch.number() != span.number)
    span.begin_ns = std::min(span.begin_ns + found_since_look_.stopped_ns, now_ns);
  if (watch.number() != 0 && watch.number() != span.number) Finish(watched, loop, tools);
  if (span.thresholds.threshold_ns == 0) return kNever;
  if (watched == &spans_.dispatch && span.number != 0 && span.number != followed_[0])
    followed_ = {span.number, followed_[0]};
  int64_t next_read_ns = span.read_again_within_ns == kNever ? kNever : now_ns + span.read_again_within_ns;
  const policies::CheckSchedule schedule{span.thresholds.threshold_ns, options.sample_interval_ns,
                                         options.ring_size};
  idle_sleep_ns_ = std::min(idle_sleep_ns_, schedule.idle_sleep_ns());
  if (span.number == 0) return std::min(now_ns + schedule.idle_sleep_ns(), next_read_ns);
  watch.Follow(span, options);
  if (!watch.IsWindowDue(now_ns) || watch.is_window_open()) return next_read_ns;
  if (IsForADebugger(now_ns, tools)) {
    watch.PutOffCheck(now_ns + 2 * options.check_period_ns);
    return next_read_ns;
  }
  IdlePlaces::Answer answer = IdlePlaces::Answer::kHang;
  if (MayIdle(*watched, loop))
    answer = idle_places_.AtWindow(watch.number(), thread_.thread(), thread_.files);
  if (answer == IdlePlaces::Answer::kHang) {
    OpenWindow(watched, loop, span.tag, now_ns, tools);
  } else {
    Rest(&watch, answer, now_ns, tools);
  }
  return next_read_ns;
}

// A debugger stops threads one by one, which looks like a hang; and each of our signals would stop
// them once more.
bool LoopWatch::IsForADebugger(int64_t now_ns, const WatchTools& tools) {
  constexpr int64_t kFreshNs = 1 * base::kNsPerSecond;
  bool is_in_hang = IsHanging();  // earlier values say nothing of the next one
  if (is_in_hang && now_ns - tracer_read_ns_ < kFreshNs) return false;
  tracer_read_ns_ = now_ns;
  bool is_left_alone = !tools.options->reports_under_debugger && stack::ReadTracer(tools.process()) != 0;
  tools.counters->checks_under_debugger.Add(is_left_alone);
  return is_left_alone;
}

void LoopWatch::OpenWindow(WatchedSpan* span, const WatchedLoop& loop, const char* tag, int64_t now_ns,
                           const WatchTools& tools) {
  SpanWatch& watch = span->watch;
  if (!ring_.TryTakeRoom(tools)) return watch.PutOffWindow(now_ns + tools.options->check_period_ns);
  // From outside, a thread that runs is stopped for each sample, which a look may take for another's stop.
  ring_.SetNextSample(now_ns, watch.SampleIntervalNs(
                                  now_ns, tools.process().is_own() ? 0 : tools.options->sample_interval_ns));
  // A span around it or inside it that goes on needs the account from its own first window on.
  bool is_other_open = std::ranges::any_of(spans_.all(), [&](const WatchedSpan* other) {
    bool is_in_window = other->watch.is_window_open() && other->IsStillIn(loop);
    return other != span && (other->watch.is_hanging() || is_in_window);
  });
  // First the reads that never wait: the program may be changing its address space.
  bool is_first = watch.OpenWindow(ring_.count());
  if (is_first)
    watch.SetCpuBaseline({now_ns, tools.thread(loop.tid.load()).CpuNs(), tools.process().CpuNs()});
  thread_.files->KeepAll(thread_.thread());
  keeps_thread_files_ = true;
  if (is_first && !is_other_open) time_.OpenAccount(loop);
  char text[SpanWatch::kMaxTagBytes];
  if (!WriteFunctionTag(tag, text)) base::ReadOwnString(reinterpret_cast<uint64_t>(tag), text, sizeof text);
  if (!span->IsStillIn(loop)) text[0] = '\0';  // the string may have been another by then
  tools.capturer->KeepSignal();
  if (is_first) {
    tools.capturer->RefreshModules();
  } else {
    tools.capturer->RefreshModulesIfDue();
  }
  PlaceFunctionTag(tools.capturer->modules(), text);
  watch.SetTag(text);
}

void LoopWatch::Check(WatchedSpan* span, const WatchedLoop& loop, int64_t now_ns, const WatchTools& tools) {
  SpanWatch& watch = span->watch;
  if (!watch.is_window_open() || !span->IsStillIn(loop)) return;  // over: the next look finishes it
  if (!IsOverThreshold(watch, tools.process()))
    return watch.PutOffCheck(now_ns + tools.options->sample_interval_ns);
  const SampleList samples = ring_.From(watch.first_sample(), tools);
  if (samples.empty()) return;
  if (MayIdle(*span, loop)) {
    const LoopSample& newest = *samples.all().back();
    const IdlePlaces::Answer answer =
        idle_places_.AtCheck(watch.number(), loop, newest.stack, IsCertain(loop, newest.stack, tools), now_ns,
                             tools.process(), thread_.files);
    if (answer == IdlePlaces::Answer::kUnproven) unproven_samples_ = ring_.count();
    if (answer != IdlePlaces::Answer::kHang) return Rest(&watch, answer, now_ns, tools);
  }
  if (span == &spans_.dispatch) reporter_.WeighSamples(watch, ring_, tools);
  reporter_.ReportCheck(span, loop, samples.all(), now_ns, tools);
}

void LoopWatch::Finish(WatchedSpan* span, const WatchedLoop& loop, const WatchTools& tools) {
  ring_.Collect(loop, SampleRing::Patience::kGiveUp, tools);
  SpanWatch& watch = span->watch;
  const bool is_dispatch = span == &spans_.dispatch;
  const bool was_hanging = watch.is_hanging();
  if (!was_hanging && !TryReportLate(span, loop, tools) && !TryReportUnproven(span, loop, tools)) {
    if (!is_dispatch || !unproven_.IsOf(watch.number())) reporter_.CountSuppressed(*span, loop, tools);
    if (is_dispatch) unproven_.Leave(tools);
  } else {
    if (is_dispatch) unproven_.Prove(tools);
    // By the clock it is over by now at the latest; exact is what the loop's own thread measured.
    int64_t duration_ns = tools.NowNs() - watch.begin_ns();
    int64_t measured_ns = span->MeasuredNs(loop, tools.span_tools());
    if (measured_ns != 0) duration_ns = std::min(duration_ns, measured_ns - watch.discounted().stopped_ns);
    usage_.CountHang(span, duration_ns, tools);
    if (is_dispatch && was_hanging) {
      WeighSamples(tools);
      reporter_.CorrectBlame(span, loop, ring_, duration_ns, tools);
    }
    reporter_.ReportEnd(*span, duration_ns, tools);
  }
  if (is_dispatch && loop.is_inferred.load()) {
    const int64_t measured_ns = span->MeasuredNs(loop, tools.span_tools());
    idle_places_.EndDispatch(watch.number(), std::max(measured_ns, watch.threshold_ns()), has_returned_);
  }
  span->counted_ns = 0;
  watch.End();
}

}  // namespace lagwatch::watchdog
