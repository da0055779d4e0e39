// SPDX-License-Identifier: Apache-2.0
// A thread of another process whose loop is watched by looking at it now and then.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/owned_fd.h"
#include "base/ticks.h"
#include "policies/polled_dispatch.h"
#include "sdk/outside/go_code.h"
#include "sdk/outside/kernel_waits.h"
#include "sdk/outside/return_counter.h"
#include "sdk/outside/shared_waits.h"
#include "sdk/outside/unanswered_windows.h"
#include "sdk/outside/window_pings.h"
#include "sdk/waits/object_home.h"
#include "sdk/waits/wait_home.h"
#include "stack/threads/thread_state.h"
#include "watchdog/evidence/idle_places.h"
#include "watchdog/loops/loop_registry.h"

namespace lagwatch::sdk {

// Thread safety: one thread's. Context: background.
class PolledThread {
 public:
  enum class State : uint8_t {
    kAlive,
    kGone,
    kHidden,  // the kernel does not let this process see where it sleeps
  };

  // The common part of the threads of one process; borrowed.
  struct Common {
    explicit Common(const base::Process& of) : process(of), go(of) {}

    base::Process process;
    GoCode go;
    SharedWaits waits;
  };
  // With `takes_probable`, see policies::PolledDispatch. `waits` is borrowed; null: the kernel records
  // nothing.
  PolledThread(int32_t tid, bool takes_probable, const KernelWaits* waits, Common* common);
  ~PolledThread() { common_->waits.Set(tid(), -1); }
  PolledThread(const PolledThread&) = delete;
  PolledThread& operator=(const PolledThread&) = delete;

  // Looks at it once: one system call, if it has slept since the last look.
  State Poll(const base::TickScale& scale);
  // Whether it has run since the look before the last one.
  bool has_run() const { return has_run_; }
  // Whether it waits as loops do.
  bool is_in_wait() const { return is_in_wait_; }
  // Whether it was perhaps not back in its loop's wait for a few looks, nor parked or stopped.
  bool MayHang() const;
  // Whether its loop's wait is known by now.
  bool has_home() const { return home_.home_frame() != 0 && !home_.is_home_shared(); }
  // Of loops that poll nothing, those alone that are hardly anything else: see ObjectHome.
  void SetCautious(bool is_cautious) { objects_.SetCautious(is_cautious); }
  // The same of a loop that polls nothing.
  bool has_object_home() const { return objects_.has_home(); }
  // Whether it sleeps where no thread idles, for a lock that another one has or for a disk, and no loop of it
  // is known: it was there before it was first looked at, or has not come to its loop yet.
  bool is_frozen() const { return is_frozen_; }
  // CLOCK_MONOTONIC; since then it has been away from its loop's wait for certain. 0: it is not.
  int64_t away_since_ns() const { return away_since_ns_; }
  // Whether it may have a loop that waits for a single descriptor, which a client may do as well.
  bool has_usual_wait() const { return home_.HasUsualWait(watchdog::kFewWaits); }
  // From now on its dispatches are those of `loop`, also one that is under way; null: of none.
  void SetLoop(watchdog::WatchedLoop* loop, const base::TickScale& scale);
  // From now on these windows are asked, by X11 or by their compositor, when nothing else proves that a
  // dispatch goes on. Borrowed; null: there are none.
  void SetWindows(WindowPings* windows, const UnansweredWindows* unanswered) {
    windows_ = windows;
    unanswered_ = unanswered;
  }
  watchdog::WatchedLoop* loop() const { return loop_; }
  int32_t tid() const { return thread_.tid; }
  std::string Name() const;

 private:
  // That change when the thread sleeps, or calls for input or output; -1 where they cannot be read.
  struct Pauses {
    int64_t voluntary_switches = -1;
    int64_t io_calls = -1;

    bool operator==(const Pauses&) const = default;
  };

  int64_t ReadTurns() const;
  // Whether it has nothing to do, while another thread serves its loop.
  bool IsParked(bool is_continuous) const;
  // Judges a sleep of a thread whose loop is not known.
  void NoteSleep(bool has_waited, bool is_continuous);
  void NoteAway(bool is_away, bool is_continuous);
  // Notes the wait that the thread is in, if it is another one than at the last look. Returns whether it is
  // the loop's.
  bool NoteWait(bool is_continuous);
  bool NotePolledWait(const WaitSet& set, uint32_t now_ms);
  bool NoteObjectWait(const ObjectCall& call, uint32_t now_ms);
  // To be called with each look that finds it elsewhere than the last one.
  void EndWait(uint32_t now_ms);
  void FollowLooks(bool is_at_home, bool is_continuous);
  // Counts the returns of its loop's wait from now on, and looks again. Returns whether it is in that wait by
  // now.
  bool IsBackAfterArming();
  Pauses ReadPauses() const;
  void Apply(policies::PolledDispatch::Action action);
  // To be called with each look that finds it in its loop's wait.
  void NoteHomePlace();
  // Asks after some looks in a row that have proven nothing, and notes when a dispatch rests on the answer.
  void AskWindow(policies::PolledDispatch::Action action, const policies::PolledDispatch::Moment& moment);
  bool IsStopped() const;
  bool HasUnansweredWindow() const;
  // Takes over what the kernel has recorded of its loop since.
  void FollowKernel(const base::TickScale& scale);
  bool IsRecordedByKernel() const { return home_looks_ >= kSureLooks && waits_.Read().since_ns != 0; }

  base::Thread thread_;
  bool takes_probable_;
  Common* common_;
  base::OwnedFd activity_file_;
  base::OwnedFd counters_file_;
  WaitHome home_;
  ObjectHome objects_;
  std::optional<ObjectCall> object_call_;  // that it was in at the last look
  policies::PolledDispatch dispatch_;
  ReturnCounter returns_;
  WindowPings* windows_ = nullptr;
  const UnansweredWindows* unanswered_ = nullptr;
  uint32_t doubtful_looks_ = 0;  // in a row, that began a dispatch again
  watchdog::WatchedLoop* loop_ = nullptr;
  // At the last look.
  stack::ThreadActivity activity_ = stack::ThreadActivity::kRunning;
  stack::BlockedThread blocked_{};
  int64_t turns_ = -1;
  bool has_run_ = true;
  bool is_in_wait_ = false;
  bool is_parked_ = false;
  bool is_frozen_ = false;
  bool is_sleep_judged_ = false;
  bool has_looked_ = false;
  bool is_first_sleep_ = true;  // it has slept since before the first look
  bool is_home_wait_ = false;
  Pauses pauses_;
  bool is_stopped_ = false;
  int32_t home_epoll_ = -1;        // that its loop waits for; -1: none
  uint32_t away_looks_ = 0;        // in a row
  uint32_t sure_looks_ = 0;        // of these, the last ones between which it was certainly not back
  int64_t away_since_ns_ = 0;      // CLOCK_MONOTONIC: since then certainly; 0: it is not
  ReturnCounter::Call home_call_;  // the loop's wait
  // A loop that waits in two ways has dispatches that the kernel does not see.
  static constexpr uint32_t kSureLooks = 5;
  ThreadWaits waits_;
  WaitKey recorded_home_;          // of the loop's wait, as the kernel has it
  uint32_t home_looks_ = 0;        // that found it there, in a row
  int64_t recorded_begin_ns_ = 0;  // of the last dispatch that was taken over
  bool is_recorded_under_way_ = false;
};

}  // namespace lagwatch::sdk
