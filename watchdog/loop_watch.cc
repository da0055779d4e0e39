// SPDX-License-Identifier: Apache-2.0
#include "watchdog/loop_watch.h"

#include <algorithm>
#include <utility>

#include "base/process/safe_memory.h"
#include "policies/fact_names.h"
#include "watchdog/evidence/evidence.h"
#include "watchdog/report_facts.h"
#include "watchdog/samples/expensive_sample.h"
#include "watchdog/samples/past_dispatches.h"
#include "watchdog/spans/awaited.h"

namespace lagwatch::watchdog {
namespace {

constexpr int64_t kNever = INT64_MAX;

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

SpanTools ToSpanTools(const WatchTools& tools, int64_t last_look_ns = 0) {
  return {tools.options, tools.tick_scale, tools.clock, last_look_ns};
}

}  // namespace

int64_t LoopWatch::Look(WatchedLoop* loop, const WatchTools& tools) {
  uint32_t generation = loop->generation.load(std::memory_order_acquire);  // pairs with the registry's stores
  if (generation != generation_) {
    Forget(*loop, tools);
    generation_ = generation;
    loop->CopyName(name_);
    tid_ = loop->tid.load();
    idle_places_.BeginLoop(loop->probe.begun(), tools.clock->MonoNs());
    files_ = &tools.capturer->thread_files();
    is_thread_kept_ = files_->Keep(tid_);
  }
  const int64_t now_ns = tools.clock->MonoNs();
  const Thresholds thresholds = loop->limits.ThresholdsOr(tools.options->thresholds());
  const bool has_moved =
      was_background_ == tools.is_foreground();  // the time before is counted in the earlier state
  if (thresholds == last_thresholds_ && !has_moved && IsAllAsBefore(*loop, now_ns)) {
    const bool is_sample_due = is_window_open_ && now_ns >= next_sample_ns_;
    if (is_sample_due) {
      TakeSample(*loop, now_ns, false, tools);
    } else {
      CollectSample(*loop, tools);
      activity_ = ReadActivity();
    }
    return NextLookNs(now_ns, tools);
  }
  CollectSample(*loop, tools);
  activity_ = ReadActivity();
  last_thresholds_ = thresholds;
  SetProbeLimits(loop, ToSpanTools(tools));

  int64_t next_ns = kNever;
  idle_sleep_ns_ = kNever;
  bool is_check_due = false;
  is_window_open_ = false;
  for (Watched& watched : watched_) {
    next_ns = std::min(next_ns, Follow(&watched, *loop, now_ns, tools));
    is_window_open_ |= watched.watch.is_window_open();
    is_check_due |= watched.watch.is_window_open() && watched.watch.IsCheckDue(now_ns);
  }
  if (found_since_look_.stopped_ns != 0) frame_counts_.Distrust(*loop);
  frame_counts_.Tell(*loop, name_, now_ns, tools.sink);
  CollectUsage(*loop, tools);
  found_since_look_ = {};
  last_look_ns_ = now_ns;
  const uint64_t begun = loop->probe.begun();
  has_begun_nothing_ = std::exchange(last_begun_, begun) == begun;
  if (is_window_open_ && (now_ns >= next_sample_ns_ || is_check_due))
    TakeSample(*loop, now_ns, is_check_due, tools);
  for (Watched& watched : watched_) {
    const SpanWatch& watch = watched.watch;
    if (watch.number() == 0 || IsToldByDispatch(watched)) continue;
    if (watch.IsCheckDue(now_ns)) Check(&watched, *loop, now_ns, tools);
    next_ns = std::min(next_ns, watch.NextLookNs());
    if (watch.is_hanging()) CountHang(&watched, now_ns - watch.begin_ns(), tools);
  }
  is_window_open_ = std::ranges::any_of(watched_, [](const Watched& watched) {
    return watched.watch.is_window_open();
  });  // checks close theirs
  if (keeps_thread_files_ && !is_window_open_ && !IsHanging()) {
    files_->ReleaseOthers(tid_);
    keeps_thread_files_ = false;
  }
  next_whole_look_ns_ = std::min(next_ns, now_ns + tools.options->check_period_ns);
  GiveRingBackIfUnused(*loop, tools);
  return NextLookNs(now_ns, tools);
}

bool LoopWatch::IsAllAsBefore(const WatchedLoop& loop, int64_t now_ns) const {
  return (is_window_open_ || IsHanging()) && now_ns < next_whole_look_ns_ && found_since_look_.is_clean() &&
         std::ranges::all_of(watched_, [&](const Watched& watched) {
           const bool is_told_between =
               !watched.watch.is_hanging() || watched.source->IsEndToldBetweenLooks();
           return watched.watch.number() == 0 || (is_told_between && watched.IsStillIn(loop));
         });
}

int64_t LoopWatch::NextLookNs(int64_t now_ns, const WatchTools& tools) const {
  int64_t next_ns = next_whole_look_ns_;
  if (is_window_open_) next_ns = std::min(next_ns, next_sample_ns_);
  // The end of a hang is to be on record soon, whatever the next check's date.
  if (IsHanging()) next_ns = std::min(next_ns, now_ns + tools.options->sample_interval_ns);
  return next_ns;
}

void LoopWatch::Discount(const policies::DiscountedTime& process_findings) {
  policies::DiscountedTime findings = process_findings;
  if (findings.stopped_ns != 0 && HasBeenActive(findings.stopped_ns))
    findings.blocked_ns += std::exchange(findings.stopped_ns, 0);
  found_since_look_ += findings;
  for (Watched& watched : watched_) watched.watch.Discount(findings);
}

LoopWatch::Activity LoopWatch::ReadActivity() const {
  const int64_t cpu_ns = base::ThreadCpuNs(tid_);
  const int64_t queued_ns = stack::ReadRunQueueNs(tid_, files_);
  if (cpu_ns < 0 || queued_ns < 0) return {};
  return {base::SystemClock().MonoNs(), cpu_ns + queued_ns};
}

bool LoopWatch::HasBeenActive(int64_t stopped_ns) const {
  const Activity now = ReadActivity();
  const int64_t wall_ns = now.mono_ns - activity_.mono_ns;
  if (activity_.mono_ns == 0 || now.mono_ns == 0 || stopped_ns > wall_ns) return false;
  constexpr int64_t kOneThread = 1;
  return !policies::CanHaveBeenStopped(stopped_ns, wall_ns, now.active_ns - activity_.active_ns, kOneThread);
}

bool LoopWatch::IsQuiet(const WatchedLoop& loop) const {
  bool may_wait_unseen = loop.tasks.queued() != 0 || loop.inputs.queued() != 0 ||
                         loop.idle_handler.begun() != 0 || loop.scopes.shortest_deadline_ns() != INT64_MAX;
  return has_begun_nothing_ && !may_wait_unseen && frame_counts_.IsQuiet(loop, last_look_ns_) &&
         std::ranges::all_of(watched_, [](const Watched& watched) { return watched.watch.number() == 0; });
}

bool LoopWatch::IsHanging() const {
  return std::ranges::any_of(watched_, [](const Watched& watched) { return watched.watch.is_hanging(); });
}

void LoopWatch::FinishIfOver(const WatchedLoop& loop, const WatchTools& tools) {
  for (Watched& watched : watched_) {
    if (watched.watch.number() != 0 && !watched.IsStillIn(loop)) Finish(&watched, loop, tools);
  }
  if (generation_ != 0) frame_counts_.Tell(loop, name_, tools.clock->MonoNs(), tools.sink);
}

void LoopWatch::FinishHangs(const WatchedLoop& loop, const WatchTools& tools) {
  CollectSample(loop, tools);
  for (Watched& watched : watched_) {
    const bool is_unproven = watched.source == &dispatches_ && !watched.watch.is_hanging() &&
                             idle_places_.IsUnproven(watched.watch.number()) &&
                             !idle_places_.IsOutside(watched.watch.number()) && !IsStillAsleep(loop, tools);
    if (watched.watch.is_hanging() || is_unproven) Finish(&watched, loop, tools);
  }
}

void LoopWatch::Forget(const WatchedLoop& loop, const WatchTools& tools) {
  CollectSample(loop, tools);
  has_returned_ = false;
  for (Watched& watched : watched_) {
    // The probe continues its numbers for the next owner of the place, so its record of this dispatch
    // is still found.
    if (watched.watch.number() != 0) Finish(&watched, loop, tools);
    watched.source->Forget();
  }
  has_returned_ = true;
  if (generation_ != 0) frame_counts_.Tell(loop, name_, tools.clock->MonoNs(), tools.sink);
  CollectUsage(loop, tools);
  if (generation_ == 0 && !loop.is_in_use()) SkipWhatWasBefore(loop);
  if (std::exchange(is_thread_kept_, false)) files_->Release(tid_);
  keeps_thread_files_ = false;
  if (tools.rings != nullptr) GiveRingBack(tools.rings);
  last_usage_ns_ = 0;
  generation_ = 0;
  last_look_ns_ = 0;
  next_whole_look_ns_ = 0;
  found_since_look_ = {};
}

int64_t LoopWatch::Follow(Watched* watched, const WatchedLoop& loop, int64_t now_ns,
                          const WatchTools& tools) {
  const WatchOptions& options = *tools.options;
  SpanWatch& watch = watched->watch;
  if (IsToldByDispatch(*watched)) {
    watch.End();
    watched->source->Forget();
    return kNever;
  }
  Span span = watched->source->Read(loop, now_ns, ToSpanTools(tools, last_look_ns_));
  if (watch.number() != span.number)
    span.begin_ns = std::min(span.begin_ns + found_since_look_.stopped_ns, now_ns);
  if (watch.number() != 0 && watch.number() != span.number) Finish(watched, loop, tools);
  if (span.thresholds.threshold_ns == 0) return kNever;
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
  if (MayIdle(*watched, loop)) answer = idle_places_.AtWindow(watch.number(), tid_, files_);
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
  bool is_left_alone = !tools.options->reports_under_debugger && stack::ReadTracer() != 0;
  tools.counters->checks_under_debugger.Add(is_left_alone);
  return is_left_alone;
}

void LoopWatch::Finish(Watched* watched, const WatchedLoop& loop, const WatchTools& tools) {
  CollectSample(loop, tools);
  SpanWatch& watch = watched->watch;
  if (!watch.is_hanging() && !TryReportLate(watched, loop, tools) &&
      !TryReportUnproven(watched, loop, tools)) {
    CountSuppressed(*watched, loop, tools);
  } else {
    // By the clock it is over by now at the latest; exact is what the loop's own thread measured.
    int64_t duration_ns = tools.clock->MonoNs() - watch.begin_ns();
    int64_t measured_ns = watched->source->DurationNs(watch.number(), loop, ToSpanTools(tools));
    if (measured_ns != 0) duration_ns = std::min(duration_ns, measured_ns - watch.discounted().stopped_ns);
    CountHang(watched, duration_ns, tools);
    for (const base::Uuid& id : watch.report_ids()) tools.sink->OnHangEnd(id, duration_ns);
    if (HangListener* listener = tools.options->listener) listener->OnHangEnd(Notice(*watched, duration_ns));
  }
  if (watched->source == &dispatches_ && loop.is_inferred.load()) {
    const int64_t measured_ns = watched->source->DurationNs(watch.number(), loop, ToSpanTools(tools));
    idle_places_.EndDispatch(watch.number(), std::max(measured_ns, watch.threshold_ns()), has_returned_);
  }
  watched->counted_ns = 0;
  watch.End();
}

bool LoopWatch::TryReportLate(Watched* watched, const WatchedLoop& loop, const WatchTools& tools) {
  SpanWatch& watch = watched->watch;
  if (watch.discounted().blocked_ns == 0) return false;
  const int64_t now_ns = tools.clock->MonoNs();
  const int64_t duration_ns =
      watched->source->DurationNs(watch.number(), loop, ToSpanTools(tools)) - watch.discounted().stopped_ns;
  if (duration_ns < watch.threshold_ns() || IsForADebugger(now_ns, tools)) return false;
  LoopSample* next = NextSample(now_ns, tools);
  if (next == nullptr) return false;
  LoopSample& sample = *next;
  sample.stack.Clear();
  sample.no_stack_reason = stack::NoStackReason::kLockedMemory;
  sample.use = {};
  policies::ThreadLook look;
  if (is_account_open_ && LookAtThread(tid_, &account_.last_look(), &look, files_))
    sample.use = account_.Add(look);
  ++sample_count_;
  const LoopSample* samples[] = {&sample};
  BeginEnded(watched, loop, samples, duration_ns, tools);
  return true;
}

bool LoopWatch::TryReportUnproven(Watched* watched, const WatchedLoop& loop, const WatchTools& tools) {
  SpanWatch& watch = watched->watch;
  const auto ring_size = static_cast<uint64_t>(tools.options->ring_size);
  const bool has_samples = sample_count_ < unproven_samples_ + ring_size && unproven_samples_ != 0;
  const bool is_unproven =
      watched->source == &dispatches_ && has_returned_ && idle_places_.IsUnproven(watch.number());
  if (!is_unproven || !has_samples) return false;
  const int64_t now_ns = tools.clock->MonoNs();
  const int64_t measured_ns = watched->source->DurationNs(watch.number(), loop, ToSpanTools(tools));
  const int64_t duration_ns =
      measured_ns == 0 ? now_ns - watch.begin_ns() : measured_ns - watch.discounted().stopped_ns;
  if (duration_ns < watch.threshold_ns() || IsForADebugger(now_ns, tools)) return false;
  // The oldest place in the ring may hold what IsStillAsleep() captured.
  const uint64_t kept = std::min(sample_count_, std::max<uint64_t>(ring_size - 1, 1));
  const uint64_t oldest = std::max(watch.first_sample(), sample_count_ - kept);
  const LoopSample* samples[WatchOptions::kMaxRingSize];
  size_t count = 0;
  for (uint64_t i = oldest; i < unproven_samples_; ++i) samples[count++] = &ring_[i % ring_size];
  if (count == 0) samples[count++] = &ring_[(unproven_samples_ - 1) % ring_size];
  BeginEnded(watched, loop, {samples, count}, duration_ns, tools);
  return true;
}

void LoopWatch::BeginEnded(Watched* watched, const WatchedLoop& loop,
                           std::span<const LoopSample* const> samples, int64_t duration_ns,
                           const WatchTools& tools) {
  SpanWatch& watch = watched->watch;
  const stack::Stack& expensive = PickExpensiveSample(samples, tools.options->expensive_stack_rule).stack;
  const int64_t end_ns = watch.begin_ns() + duration_ns;
  tools.counters->hangs.Add();
  watch.Check(expensive.frame_count == 0 ? SpanWatch::kNoStack : expensive.FunctionHash(), end_ns,
              *tools.options);
  Report(watched, loop, samples, expensive, end_ns, tools);
  if (HangListener* listener = tools.options->listener) listener->OnHangBegin(Notice(*watched, duration_ns));
}

bool LoopWatch::IsStillAsleep(const WatchedLoop& loop, const WatchTools& tools) {
  constexpr size_t kWaitFrames = 2;  // of the C library, around the call
  if (unproven_samples_ == 0) return true;
  const auto ring_size = static_cast<uint64_t>(tools.options->ring_size);
  const stack::Stack& before = ring_[(unproven_samples_ - 1) % ring_size].stack;
  LoopSample& now = ring_[unproven_samples_ % ring_size];
  tools.capturer->Capture(loop.tid.load(), &now.stack);
  return CountCommonFrames(before, now.stack) + kWaitFrames >= before.frame_count;
}

void LoopWatch::Rest(SpanWatch* watch, IdlePlaces::Answer answer, int64_t now_ns, const WatchTools& tools) {
  if (answer == IdlePlaces::Answer::kUnproven)
    return watch->PutOffWindow(now_ns + tools.options->check_period_ns);
  tools.counters->idle_waits.Add();
  watch->BeginAgain(now_ns);
}

void LoopWatch::CollectUsage(const WatchedLoop& loop, const WatchTools& tools) {
  if (tools.usage == nullptr) return;
  if (generation_ == 0) return;
  const int64_t now_ns = tools.clock->MonoNs();
  if (found_since_look_.stopped_ns != 0) last_stop_ = {last_look_ns_, now_ns, found_since_look_.stopped_ns};
  policies::LoopUsage* usage = tools.usage->Of(name_);
  const int64_t before_ns = std::exchange(last_usage_ns_, now_ns);
  const bool was_background = std::exchange(was_background_, !tools.is_foreground());
  if (before_ns != 0) {
    const int64_t added_ns = std::max<int64_t>(0, now_ns - before_ns - found_since_look_.stopped_ns);
    usage->watched_ns += added_ns;
    if (was_background) usage->background.watched_ns += added_ns;
  }
  usage_reader_.ReadCounts(loop.probe, usage);
  ReadNotes(loop, now_ns, tools);
}

// Of the kinds that never overlap: the sum is time in which the loop did not answer.
void LoopWatch::CountHang(Watched* watched, int64_t duration_ns, const WatchTools& tools) {
  const HangKind kind = watched->source->kind();
  if (tools.usage == nullptr || (kind != HangKind::kHang && kind != HangKind::kBusyLoop)) return;
  policies::LoopUsage* usage = tools.usage->Of(name_);
  if (watched->counted_ns == 0) {
    watched->is_background = !tools.is_foreground();
    ++usage->hangs;
    usage->background.hangs += watched->is_background;
  }
  // Less than was counted, when it was over a little before the last look.
  const int64_t added_ns =
      duration_ns - std::exchange(watched->counted_ns, std::max<int64_t>(duration_ns, 1));
  usage->hang_ns = std::max<int64_t>(0, usage->hang_ns + added_ns);
  if (watched->is_background)
    usage->background.hang_ns = std::max<int64_t>(0, usage->background.hang_ns + added_ns);
}

void LoopWatch::CountSuppressed(const Watched& watched, const WatchedLoop& loop, const WatchTools& tools) {
  const SpanWatch& watch = watched.watch;
  const policies::DiscountedTime& discounted = watch.discounted();
  const int64_t measured_ns = watched.source->DurationNs(watch.number(), loop, ToSpanTools(tools));
  const int64_t elapsed_ns = tools.clock->MonoNs() - watch.begin_ns();
  auto is_hang = [&](int64_t duration_ns) { return duration_ns >= watch.threshold_ns(); };
  WatchCounters& counters = *tools.counters;
  if (measured_ns != 0 && is_hang(std::min(measured_ns - discounted.stopped_ns, elapsed_ns)))
    return counters.hangs_ended_first.Add();
  const HangKind kind = watched.source->kind();
  if (kind == HangKind::kBusyLoop) return;  // nothing has begun before it is found
  // It may have been over long before this look; but a timed dispatch of that length has a measure.
  if (kind == HangKind::kHang && loop.probe.is_timed() && measured_ns == 0) return;
  if (discounted.stopped_ns != 0 && is_hang(elapsed_ns + discounted.stopped_ns))
    return counters.hangs_stopped.Add();
  if (discounted.suspended_ns != 0 && is_hang(elapsed_ns + discounted.suspended_ns))
    counters.hangs_suspended.Add();
}

void LoopWatch::ReadNotes(const WatchedLoop& loop, int64_t now_ns, const WatchTools& tools) {
  DispatchHistory::Dispatch note;
  uint64_t lost_count = 0;
  while (usage_reader_.ReadNote(loop.probe, &note, &lost_count)) {
    tools.counters->notes_lost.Add(lost_count);
    TellNote(note, loop, now_ns, tools);
  }
  tools.counters->notes_lost.Add(lost_count);
}

void LoopWatch::TellNote(const DispatchHistory::Dispatch& note, const WatchedLoop& loop, int64_t now_ns,
                         const WatchTools& tools) {
  const WatchOptions& options = *tools.options;
  const uint64_t end_ticks = note.begin_ticks + note.duration_ticks;
  const uint64_t now_ticks = base::ReadTicks();
  const int64_t end_ns = now_ns - tools.tick_scale->ToNs(now_ticks - std::min(end_ticks, now_ticks));
  int64_t duration_ns = tools.tick_scale->ToNs(note.duration_ticks);
  if (end_ns > last_stop_.from_ns && end_ns - duration_ns < last_stop_.to_ns)
    duration_ns -= last_stop_.lasted_ns;
  const int64_t threshold_ns = loop.limits.ThresholdsOr(options.thresholds()).threshold_ns;
  if (duration_ns > options.slow_dispatch_ns && duration_ns < threshold_ns) {
    tools.usage->AddSlow(name_, note.tag, duration_ns);
    TellSlow(note, loop, end_ns, duration_ns, tools);
  }
  bool is_sensitive = options.sensitive_ns != 0 && duration_ns > options.sensitive_ns;
  if (!is_sensitive || options.listener == nullptr || !options.listener->WantsSensitive()) return;
  options.listener->OnSensitive({.loop_name = name_,
                                 .tag = note.tag,
                                 .tid = tid_,
                                 .kind = HangKind::kHang,
                                 .level = HangLevel::kHang,
                                 .threshold_ns = options.sensitive_ns,
                                 .elapsed_ns = duration_ns});
}

void LoopWatch::TellSlow(const DispatchHistory::Dispatch& note, const WatchedLoop& loop, int64_t end_ns,
                         int64_t duration_ns, const WatchTools& tools) {
  if (!tools.sink->WantsSlow()) return;
  if (!tools.options->reports_under_debugger && stack::ReadTracer() != 0) return;
  const int64_t begin_ns = end_ns - tools.tick_scale->ToNs(note.duration_ticks);
  FactList facts;
  if (note.queue_wait_ns != 0) facts.Add("queue_wait_ms", note.queue_wait_ns / base::kNsPerMs);
  AddSlowFrameFacts(loop.frames, begin_ns, end_ns, &facts);
  AddThreadFacts(note.tid, tools, &facts);
  tools.sink->OnSlow({.loop_name = name_,
                      .tag = note.tag,
                      .tid = note.tid,
                      .begin_mono_ns = begin_ns,
                      .duration_ns = duration_ns,
                      .threshold_ns = tools.options->slow_dispatch_ns,
                      .cpu_ns = std::min(note.cpu_ns, duration_ns),
                      .facts = facts.all()});
}

void LoopWatch::OpenWindow(Watched* watched, const WatchedLoop& loop, const char* tag, int64_t now_ns,
                           const WatchTools& tools) {
  if (!HasRing(tools)) return watched->watch.PutOffWindow(now_ns + tools.options->check_period_ns);
  next_sample_ns_ = now_ns;
  // A span around it or inside it that goes on needs the account from its own first window on.
  bool is_other_open = std::ranges::any_of(watched_, [&](const Watched& other) {
    bool is_in_window = other.watch.is_window_open() && other.IsStillIn(loop);
    return &other != watched && (other.watch.is_hanging() || is_in_window);
  });
  // First the reads that never wait: the program may be changing its address space.
  bool is_first = watched->watch.OpenWindow(sample_count_);
  if (is_first)
    watched->watch.SetCpuBaseline({now_ns, base::ThreadCpuNs(loop.tid.load()), base::ProcessCpuNs()});
  files_->KeepAll(tid_);
  keeps_thread_files_ = true;
  if (is_first && !is_other_open) OpenAccount(loop);
  char text[SpanWatch::kMaxTagBytes];
  base::ReadOwnString(reinterpret_cast<uint64_t>(tag), text, sizeof text);
  if (!watched->IsStillIn(loop)) text[0] = '\0';  // the string may have been another by then
  watched->watch.SetTag(text);
  tools.capturer->KeepSignal();
  if (is_first) {
    tools.capturer->RefreshModules();
  } else {
    tools.capturer->RefreshModulesIfDue();
  }
}

void LoopWatch::OpenAccount(const WatchedLoop& loop) {
  is_account_open_ = false;
  policies::ThreadLook look;
  const int32_t tid = loop.tid.load();
  if (LookAtThread(tid, nullptr, &look, files_)) Account(tid, look);
  is_account_fresh_ = true;
}

bool LoopWatch::HasRing(const WatchTools& tools) {
  if (ring_ == nullptr && tools.rings != nullptr) ring_ = tools.rings->Take();
  return ring_ != nullptr;
}

void LoopWatch::GiveRingBackIfUnused(const WatchedLoop& loop, const WatchTools& tools) {
  const bool is_used = is_window_open_ || IsHanging() ||
                       idle_places_.IsUnproven(watched_[0].watch.number());  // its samples are kept
  if (is_used || tools.rings == nullptr) return;
  CollectSample(loop, tools);  // an answer would be written to the ring
  GiveRingBack(tools.rings);
}

LoopSample* LoopWatch::NextSample(int64_t now_ns, const WatchTools& tools) {
  if (!HasRing(tools)) return nullptr;
  LoopSample& sample = ring_[sample_count_ % static_cast<size_t>(tools.options->ring_size)];
  sample.mono_ns = now_ns;
  return &sample;
}

void LoopWatch::TakeSample(const WatchedLoop& loop, int64_t now_ns, bool is_needed_now,
                           const WatchTools& tools) {
  next_sample_ns_ = now_ns + tools.options->sample_interval_ns;
  const int32_t tid = loop.tid.load();
  policies::ThreadLook look;  // before the capture, which may keep the thread busy
  // Not by a look of a moment ago, since when the thread can have run, and be about to sleep.
  const bool is_fresh = std::exchange(is_account_fresh_, false);
  const bool has_run_on = is_account_open_ && !is_fresh && HasRunThroughout(tid, account_.last_look(), &look);
  const bool has_look =
      has_run_on || LookAtThread(tid, is_account_open_ ? &account_.last_look() : nullptr, &look, files_);
  activity_ = has_look ? Activity{look.mono_ns, look.use.cpu_ns + look.run_queue_ns} : Activity{};
  // Between two readings of the thread's CPU clock, of which the second is to show that it has run on.
  CollectSample(loop, tools);
  LoopSample* next = NextSample(now_ns, tools);
  if (next == nullptr) return;
  LoopSample& sample = *next;
  if (has_run_on && !is_needed_now) {
    tools.capturer->BeginCapture(tid, look.use.cpu_ns, &sample.stack, &sample.no_stack_reason);
  } else {
    tools.capturer->Capture(tid, &sample.stack, has_run_on ? look.use.cpu_ns : stack::StackCapturer::kUnread);
    sample.no_stack_reason = tools.capturer->no_stack_reason();
  }
  is_sample_outstanding_ = true;
  sample.use = has_look && IsAnyGoingOn(loop) ? Account(tid, look) : policies::ThreadUse{};
  if (is_needed_now) CollectSample(loop, tools);
}

void LoopWatch::CollectSample(const WatchedLoop& loop, const WatchTools& tools) {
  if (!std::exchange(is_sample_outstanding_, false)) return;
  tools.capturer->Collect();
  // A later stack must not be blamed for it. Spans that go on may be blamed: the others' check verifies once
  // more whether they do.
  if (!IsAnyGoingOn(loop)) return tools.counters->samples_discarded.Add();
  tools.counters->samples.Add();
  ++sample_count_;
}

bool LoopWatch::IsAnyGoingOn(const WatchedLoop& loop) const {
  return std::ranges::any_of(watched_, [&](const Watched& watched) {
    return watched.watch.is_window_open() && watched.IsStillIn(loop);
  });
}

policies::ThreadUse LoopWatch::Account(int32_t tid, const policies::ThreadLook& look) {
  if (is_account_open_) return account_.Add(look);
  is_account_open_ = true;
  account_.Open(look);
  throttle_begin_ = stack::ReadThrottleCounters(tid);
  return {};
}

policies::Verdict LoopWatch::Judge(const Watched& watched, const WatchedLoop& loop, WaitOutcome outcome) {
  if (!is_account_open_) return {};
  const int32_t tid = loop.tid.load();
  policies::ThreadLook look;
  if (LookAtThread(tid, &account_.last_look(), &look, files_) && watched.IsStillIn(loop)) account_.Add(look);
  policies::Verdict verdict;
  const stack::ThrottleCounters throttle = stack::ReadThrottleCounters(tid);
  int64_t throttled_ns = throttle.throttled_ns - throttle_begin_.throttled_ns;
  // Its first time without quota is not over, so the kernel reports no duration yet.
  if (throttled_ns == 0 && throttle.times != throttle_begin_.times) throttled_ns = INT64_MAX;
  verdict.shares = account_.Shares(throttled_ns);
  verdict.use = account_.use();
  verdict.word = policies::Judge(verdict.shares, outcome == WaitOutcome::kDeadlock);
  return verdict;
}

void LoopWatch::Check(Watched* watched, const WatchedLoop& loop, int64_t now_ns, const WatchTools& tools) {
  SpanWatch& watch = watched->watch;
  if (!watch.is_window_open() || !watched->IsStillIn(loop)) return;  // over: the next look finishes it
  size_t ring_size = static_cast<size_t>(tools.options->ring_size);
  size_t count = std::min(static_cast<size_t>(sample_count_ - watch.first_sample()), ring_size);
  if (count == 0) return;
  if (MayIdle(*watched, loop)) {
    const LoopSample& newest = ring_[(sample_count_ - 1) % ring_size];
    const IdlePlaces::Answer answer =
        idle_places_.AtCheck(watch.number(), loop, newest.stack, now_ns, files_);
    if (answer == IdlePlaces::Answer::kUnproven) unproven_samples_ = sample_count_;
    if (answer != IdlePlaces::Answer::kHang) return Rest(&watch, answer, now_ns, tools);
  }
  const LoopSample* samples[WatchOptions::kMaxRingSize];
  for (size_t i = 0; i < count; ++i) samples[i] = &ring_[(sample_count_ - count + i) % ring_size];
  const stack::Stack& expensive =
      PickExpensiveSample({samples, count}, tools.options->expensive_stack_rule).stack;

  if (!watch.is_hanging()) tools.counters->hangs.Add();
  bool was_hanging = watch.is_hanging();
  HangLevel level_before = watch.level();
  const uint64_t stack_hash = expensive.frame_count == 0 ? SpanWatch::kNoStack : expensive.FunctionHash();
  const SpanWatch::Outcome outcome = watch.Check(stack_hash, now_ns, *tools.options);
  bool is_kept = outcome == SpanWatch::Outcome::kReport &&
                 Report(watched, loop, {samples, count}, expensive, now_ns, tools);
  if (outcome == SpanWatch::Outcome::kUnchanged) tools.counters->unchanged_checks.Add();
  if (outcome == SpanWatch::Outcome::kOverLimit) tools.counters->reports_over_hang_limit.Add();
  HangListener* listener = tools.options->listener;
  if (listener == nullptr) return;
  const HangNotice notice = Notice(*watched, now_ns - watch.begin_ns());
  if (!was_hanging || watch.level() != level_before) listener->OnHangBegin(notice);
  if (!is_kept) listener->OnFiltered(notice, ReasonOf(outcome));
}

HangNotice LoopWatch::Notice(const Watched& watched, int64_t elapsed_ns) const {
  return {.loop_name = name_,
          .tag = watched.watch.tag(),
          .tid = tid_,
          .kind = watched.source->kind(),
          .level = watched.watch.level(),
          .threshold_ns = watched.watch.threshold_ns(),
          .elapsed_ns = elapsed_ns};
}

bool LoopWatch::Report(Watched* watched, const WatchedLoop& loop, std::span<const LoopSample* const> samples,
                       const stack::Stack& expensive, int64_t now_ns, const WatchTools& tools) {
  SpanWatch& watch = watched->watch;
  int32_t tid = loop.tid.load();
  int64_t wall_ms = tools.clock->WallMs();
  HangEvent event{};
  event.id = base::CreateUuidV7(wall_ms);
  event.hang_id = watch.report_ids().empty() ? event.id : watch.report_ids().front();
  event.ordinal = static_cast<uint32_t>(watch.report_ids().size());
  event.kind = watched->source->kind();
  event.level = watch.level();
  event.loop = name_;
  event.tag = watch.tag();
  event.tid = static_cast<uint32_t>(tid);
  event.threshold_ms = static_cast<uint32_t>(watch.threshold_ns() / base::kNsPerMs);
  event.elapsed_ns = now_ns - watch.begin_ns();
  event.start_wall_ms = wall_ms - event.elapsed_ns / base::kNsPerMs;
  event.detected_mono_ns = now_ns;
  const CpuBaseline& before = watch.cpu_baseline();
  event.cpu_window_ns = now_ns - before.mono_ns;
  event.cpu_thread_ns = base::ThreadCpuNs(tid) - before.thread_cpu_ns;
  event.cpu_process_ns = base::ProcessCpuNs() - before.process_cpu_ns;
  tools.counters->waits_changed.Add(tools.waits->Follow(tid, tools.capturer));
  Awaited awaited = FindAwaited(tid, &tools.capturer->thread_files());
  if (!watched->IsStillIn(loop)) {  // it waits for something else by now
    tools.waits->Clear();
    awaited = {};
  }
  tools.threads->Capture(tid, expensive, tools.capturer);
  tools.counters->thread_stacks_reused.Add(tools.threads->reused_count());
  event.samples = samples;
  event.expensive_stack = &expensive;
  event.threads = tools.threads->threads();
  event.threads_dropped = tools.threads->dropped_count();
  event.waits = tools.waits->waits();
  event.wait_outcome = tools.waits->outcome();
  FactList facts;
  if (loop.limits.weight() != 0) facts.Add("loop_weight", loop.limits.weight());
  watched->source->AddFacts(loop, &facts);
  AddNoStackFacts(samples, &facts);
  AddAwaitedFacts(awaited, &facts);
  if (watch.discounted().blocked_ns != 0)
    facts.Add("watchdog_blocked_ms", watch.discounted().blocked_ns / base::kNsPerMs);
  facts.Add(policies::kOwnThreadsFact, tools.threads->own_count());
  AddThreadFacts(tid, tools, &facts);
  AddProcessFacts(tools, &facts);
  event.facts = facts.all();
  PastDispatchRoom room;
  event.history = ReadPastDispatches(loop.probe.history(), *tools.tick_scale, *tools.clock, &room);
  event.verdict = Judge(*watched, loop, event.wait_outcome);
  event.modules = &tools.capturer->modules();
  event.discounted = watch.discounted();
  if (!tools.sink->OnHang(event)) {
    tools.counters->reports_lost.Add();
    return false;
  }
  watch.AddReport(event.id);
  tools.counters->reports.Add();
  return true;
}

}  // namespace lagwatch::watchdog
