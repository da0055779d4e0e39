// SPDX-License-Identifier: Apache-2.0
#include "watchdog/thread_time.h"

#include <utility>

#include "base/clock.h"
#include "base/one_moment.h"
#include "policies/time_discount.h"
#include "watchdog/evidence/evidence.h"

namespace lagwatch::watchdog {

bool ThreadTime::LookAt(const base::Thread& thread, const policies::ThreadLook* before,
                        const stack::StackCapturer* capturer, const stack::ThreadFiles* files,
                        policies::ThreadLook* look) {
  if (stack::IsScriptThread(thread.tid)) {
    *look = {.mono_ns = base::SystemClock().MonoNs()};
    if (capturer != nullptr) look->doing = capturer->FindScriptWait(thread.tid);
    return look->doing != policies::Doing::kUnknown;
  }
  if (!LookAtThread(thread, before, look, files)) return false;
  using policies::Doing;
  const bool is_in_futex = look->doing == Doing::kLock;
  const bool is_in_poll = look->doing == Doing::kPipe || look->doing == Doing::kNetwork;
  if (!(is_in_futex || is_in_poll) || capturer == nullptr) return true;
  // A language's run time sleeps in a futex whatever its thread waits for. It also polls the pipes of a
  // child, and a server's backend those of its server.
  const Doing doing = capturer->FindScriptWait(thread.tid);
  const bool is_polled = doing == Doing::kProcess || doing == Doing::kLock || doing == Doing::kSleep;
  if (is_polled || (is_in_futex && doing != Doing::kUnknown)) look->doing = doing;
  return true;
}

ThreadTime::Activity ThreadTime::ActivityNow() const {
  int64_t cpu_ns = 0;
  int64_t queued_ns = 0;
  const base::Bracket bracket = base::ReadAtOneMoment(base::SystemClock(), [&] {
    cpu_ns = thread_->thread().CpuNs();
    queued_ns = stack::ReadRunQueueNs(thread_->thread(), thread_->files);
  });
  if (cpu_ns < 0 || queued_ns < 0) return {};
  return {bracket.end_ns, cpu_ns + queued_ns};
}

bool ThreadTime::HasBeenActive(int64_t stopped_ns) const {
  const Activity now = ActivityNow();
  const int64_t wall_ns = now.mono_ns - activity_.mono_ns;
  if (activity_.mono_ns == 0 || now.mono_ns == 0 || stopped_ns > wall_ns) return false;
  constexpr int64_t kOneThread = 1;
  return !policies::CanHaveBeenStopped(stopped_ns, wall_ns, now.active_ns - activity_.active_ns, kOneThread);
}

void ThreadTime::OpenAccount(const WatchedLoop& loop) {
  is_open_ = false;
  ready_since_cpu_ns_ = -1;
  policies::ThreadLook look;
  const base::Thread thread{thread_->process, loop.tid.load()};
  if (Look(thread, nullptr, &look)) Add(thread, look);
  is_fresh_ = true;
}

ThreadTime::Moment ThreadTime::ReadMoment(const base::Thread& thread) {
  Moment moment{};
  policies::ThreadLook& look = moment.look;
  // Not by a look of a moment ago, since when the thread can have run, and be about to sleep.
  const bool is_fresh = std::exchange(is_fresh_, false);
  moment.has_run_on = is_open_ && !is_fresh && HasRunThroughout(thread, account_.last_look(), &look);
  moment.is_known = moment.has_run_on || Look(thread, is_open_ ? &account_.last_look() : nullptr, &look);
  activity_ = moment.is_known ? Activity{look.mono_ns, look.use.cpu_ns + look.run_queue_ns} : Activity{};
  if (moment.is_known) {
    NoteReadiness(look);
  } else {
    ready_since_cpu_ns_ = -1;
  }
  moment.ready_since_cpu_ns = ready_since_cpu_ns_;
  return moment;
}

void ThreadTime::NoteReadiness(const policies::ThreadLook& look) {
  const bool is_ready = look.doing == policies::Doing::kRunning || look.doing == policies::Doing::kQueued;
  const policies::ThreadUse& use = look.use;
  const bool is_counted = use.voluntary_switches + use.involuntary_switches != 0;  // not by each kernel
  if (!is_ready || !is_counted) {
    ready_since_cpu_ns_ = -1;
  } else if (ready_since_cpu_ns_ < 0 || ready_since_switches_ != use.voluntary_switches) {
    ready_since_cpu_ns_ = use.cpu_ns;
    ready_since_switches_ = use.voluntary_switches;
  }
}

policies::ThreadUse ThreadTime::Add(const base::Thread& thread, const policies::ThreadLook& look) {
  if (is_open_) return account_.Add(look);
  is_open_ = true;
  account_.Open(look);
  account_begin_ns_ = look.mono_ns;
  throttle_begin_ = stack::ReadThrottleCounters(thread);
  return {};
}

policies::ThreadUse ThreadTime::AddNow() {
  policies::ThreadLook look;
  if (!is_open_ || !Look(thread_->thread(), &account_.last_look(), &look)) return {};
  return account_.Add(look);
}

int64_t ThreadTime::StarvedSinceNs() const {
  if (!is_open_) return 0;
  const policies::TimeShares shares = account_.Shares(/*throttled_ns=*/0);
  return shares.run_queue_ns > shares.wall_ns / 2 ? account_begin_ns_ : 0;
}

policies::Verdict ThreadTime::Judge(const WatchedSpan& span, const WatchedLoop& loop, WaitOutcome outcome) {
  if (!is_open_) return {};
  const base::Thread thread{thread_->process, loop.tid.load()};
  policies::ThreadLook look;
  if (Look(thread, &account_.last_look(), &look) && span.IsStillIn(loop)) account_.Add(look);
  policies::Verdict verdict;
  const stack::ThrottleCounters throttle = stack::ReadThrottleCounters(thread);
  int64_t throttled_ns = throttle.throttled_ns - throttle_begin_.throttled_ns;
  // Its first time without quota is not over, so the kernel reports no duration yet.
  if (throttled_ns == 0 && throttle.times != throttle_begin_.times) throttled_ns = INT64_MAX;
  verdict.shares = account_.Shares(throttled_ns);
  verdict.use = account_.use();
  verdict.word = policies::Judge(verdict.shares, outcome == WaitOutcome::kDeadlock);
  return verdict;
}

}  // namespace lagwatch::watchdog
