// SPDX-License-Identifier: Apache-2.0
// The part of LoopWatch for dispatches that were inferred from waits, whose threads may idle.
#include <algorithm>
#include <span>

#include "stack/threads/lock_owner.h"
#include "watchdog/loop_watch.h"

namespace lagwatch::watchdog {
namespace {

// Whether that function has called another one, which has made the thread's system call.
bool IsCalledBy(const stack::Frame& function, const stack::Stack& stack) {
  if (function.function_offset == 0) return false;
  const std::span<const stack::Frame> frames = stack.view();
  const auto is_library = [&](const stack::Frame& frame) { return frame.module == frames.front().module; };
  auto caller = std::ranges::find_if_not(frames, is_library);  // of the C library
  return caller != frames.end() && std::any_of(caller + 1, frames.end(), [&](const stack::Frame& frame) {
           return frame.module == function.module && frame.function_offset == function.function_offset;
         });
}

// A language's lock, such as Python's or a mutex of Ruby's, is a condition variable, or a poll of a
// descriptor of its run time's.
bool IsForScriptLock(int32_t tid, const stack::BlockedThread& blocked, stack::StackCapturer* capturer) {
  const auto lock = capturer->FindScriptLock(tid, blocked);
  const bool is_lock =
      lock && (lock->kind == stack::LockKind::kInterpreterLock || lock->kind == stack::LockKind::kMutex);
  return is_lock && lock->owner_tid != tid;
}

}  // namespace

void LoopWatch::Rest(SpanWatch* watch, IdlePlaces::Answer answer, int64_t now_ns, const WatchTools& tools) {
  if (answer == IdlePlaces::Answer::kUnproven) {
    unproven_.Note(watch->number(), thread_.loop_name, now_ns - watch->begin_ns(), idle_places_.MayHang(),
                   tools);
    return watch->PutOffWindow(now_ns + tools.options->check_period_ns);
  }
  unproven_.Prove(tools);
  tools.counters->idle_waits.Add();
  watch->BeginAgain(now_ns);
}

bool LoopWatch::TryReportUnproven(WatchedSpan* span, const WatchedLoop& loop, const WatchTools& tools) {
  const SpanWatch& watch = span->watch;
  const auto ring_size = static_cast<uint64_t>(tools.options->ring_size);
  const bool has_samples = ring_.count() < unproven_samples_ + ring_size && unproven_samples_ != 0;
  const bool is_unproven =
      span == &spans_.dispatch && has_returned_ && idle_places_.IsProven(watch.number(), loop);
  if (!is_unproven || !has_samples) return false;
  const int64_t now_ns = tools.NowNs();
  const int64_t measured_ns = span->MeasuredNs(loop, tools.span_tools());
  int64_t duration_ns =
      measured_ns == 0 ? now_ns - watch.begin_ns() : measured_ns - watch.discounted().stopped_ns;
  const int64_t since_ns = idle_places_.IsHandlers(watch.number(), loop) ? loop.handler_since_ns.load() : 0;
  if (since_ns != 0) duration_ns -= since_ns - watch.begin_ns();
  if (duration_ns < watch.threshold_ns() || IsForADebugger(now_ns, tools)) return false;
  // The oldest place in the ring may hold what IsStillAsleep() captured.
  const uint64_t kept = std::min(ring_.count(), std::max<uint64_t>(ring_size - 1, 1));
  const uint64_t oldest = std::max(watch.first_sample(), ring_.count() - kept);
  SampleList samples;
  for (uint64_t i = oldest; i < unproven_samples_; ++i) {
    if (ring_.At(i, tools).mono_ns >= since_ns) samples.Add(&ring_.At(i, tools));
  }
  if (samples.empty() && since_ns != 0) return false;
  if (samples.empty()) samples.Add(&ring_.At(unproven_samples_ - 1, tools));
  reporter_.ReportEnded(span, loop, samples.all(), duration_ns, nullptr, tools);
  return true;
}

bool LoopWatch::IsCertain(const WatchedLoop& loop, const stack::Stack& stack, const WatchTools& tools) const {
  stack::BlockedThread blocked{};
  if (stack::ReadThreadActivity(tools.thread(loop.tid.load()), thread_.files, &blocked) !=
      stack::ThreadActivity::kBlocked)
    return false;
  const auto wait = tools.waits->owners().Find(blocked, stack, tools.capturer->modules());
  if (wait && (wait->kind == stack::LockKind::kMutex || wait->kind == stack::LockKind::kRwLock)) return true;
  if (IsForScriptLock(loop.tid.load(), blocked, tools.capturer)) return true;
  const uintptr_t site = loop.home_site.load();
  if (site == 0 || !tools.process().is_own() || !IsForAnother(loop, blocked)) return false;
  return IsCalledBy(tools.capturer->code().Resolve(site), stack);
}

bool LoopWatch::IsStillAsleep(const WatchedLoop& loop, const WatchTools& tools) {
  constexpr size_t kWaitFrames = 2;  // of the C library, around the call
  if (unproven_samples_ == 0) return true;
  const stack::Stack& before = ring_.At(unproven_samples_ - 1, tools).stack;
  LoopSample& now = ring_.At(unproven_samples_, tools);
  tools.capturer->Capture(loop.tid.load(), &now.stack);
  return CountCommonFrames(before, now.stack) + kWaitFrames >= before.frame_count;
}

}  // namespace lagwatch::watchdog
