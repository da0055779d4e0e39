// SPDX-License-Identifier: Apache-2.0
// The time of a loop's thread: the evidence for a hang's verdict (docs/detection.md), and for whether the
// process was stopped.
#pragma once

#include <cstdint>

#include "base/clock.h"
#include "policies/verdict.h"
#include "stack/threads/thread_counters.h"
#include "stack/threads/thread_state.h"
#include "watchdog/events/hang_sink.h"
#include "watchdog/spans/watched_spans.h"
#include "watchdog/watch_tools.h"

namespace lagwatch::watchdog {

// The account begins with the first window of a span and lasts as long as any span that needs it.
// Context: watchdog; not thread-safe.
class ThreadTime {
 public:
  // `thread` is borrowed.
  explicit ThreadTime(const LoopThread* thread) : thread_(thread) {}

  // As LookAtThread(), also of threads of a language's own, and with what the language knows of the wait.
  // `capturer` and `files` may be null.
  static bool LookAt(const base::Thread& thread, const policies::ThreadLook* before,
                     const stack::StackCapturer* capturer, const stack::ThreadFiles* files,
                     policies::ThreadLook* look);

  // Notes the thread's time on processors and waiting for one so far. To be called at each look.
  void ReadActivity() { activity_ = ActivityNow(); }
  // Whether the thread was active while the process is said to have been stopped for the last `stopped_ns`:
  // then the watchdog alone has waited.
  bool HasBeenActive(int64_t stopped_ns) const;

  // See TimeAccount::Discount().
  void Discount(int64_t stopped_ns) {
    if (is_open_ && stopped_ns != 0) account_.Discount(stopped_ns, base::SystemClock().MonoNs());
  }

  // Begins a new account, with a look at the loop's thread.
  void OpenAccount(const WatchedLoop& loop);

  // The thread at one moment.
  struct Moment {
    bool is_known;    // false: the thread is gone, or cannot be read
    bool has_run_on;  // … all the time since the last moment of the account
    // Its CPU time when it was first found ready since it last slept; -1: it sleeps, or that is not known.
    int64_t ready_since_cpu_ns;
    policies::ThreadLook look;
  };
  // Looks at `thread`, and notes its activity.
  Moment ReadMoment(const base::Thread& thread);
  // Adds a look to the account, or opens it with that. Returns the use since the look before.
  policies::ThreadUse Add(const base::Thread& thread, const policies::ThreadLook& look);
  // Adds a look of now, if there is an account and the thread can be read.
  policies::ThreadUse AddNow();
  // The begin of the account (CLOCK_MONOTONIC) if the thread was in the queue for more than half of it so
  // far; else 0.
  int64_t StarvedSinceNs() const;
  // The verdict on `span`, from all of the account.
  policies::Verdict Judge(const WatchedSpan& span, const WatchedLoop& loop, WaitOutcome outcome);

 private:
  bool Look(const base::Thread& thread, const policies::ThreadLook* before,
            policies::ThreadLook* look) const {
    return LookAt(thread, before, thread_->capturer, thread_->files, look);
  }
  // Distinguishes a stop of the process, in which both of its parts stand still, from a wait of the
  // watchdog's own.
  struct Activity {
    int64_t mono_ns = 0;  // 0: nothing is known
    int64_t active_ns = 0;
  };
  Activity ActivityNow() const;
  void NoteReadiness(const policies::ThreadLook& look);

  const LoopThread* thread_;
  Activity activity_;
  bool is_open_ = false;
  bool is_fresh_ = false;  // opened since the last ReadMoment()
  int64_t ready_since_cpu_ns_ = -1;
  int64_t ready_since_switches_ = 0;
  policies::TimeAccount account_;
  int64_t account_begin_ns_ = 0;
  stack::ThrottleCounters throttle_begin_;
};

}  // namespace lagwatch::watchdog
