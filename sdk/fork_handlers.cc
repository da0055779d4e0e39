// SPDX-License-Identifier: Apache-2.0
// The process's monitor around a fork(): it pauses for the call, goes on in the parent, and is off in the
// child, which has one thread, a copy of the memory and none of the monitor's threads.
#include <pthread.h>

#include <cstring>
#include <ctime>
#include <new>
#include <utility>

#include "base/clock.h"
#include "base/system/float_environment.h"
#include "base/system/seccomp.h"
#include "base/system/thread.h"
#include "sdk/process_monitor.h"
#include "sdk/report/program_facts.h"
#include "stack/stack_capturer.h"

namespace lagwatch::sdk {
namespace {

constexpr char kWasForked[] = "the process was forked: start it again in the child";

// The longest that a fork waits for `mutex_`. A thread that holds it may wait for a lock of
// the forking thread.
constexpr int kForkPauses = 100;
constexpr timespec kForkPause{.tv_sec = 0, .tv_nsec = base::kNsPerMs};

// Between the handlers of one fork, in the thread that forks and in the child's only thread.
struct ForkState {
  int tid;         // the parent's thread
  bool is_locked;  // the thread has taken `mutex_`
  bool operator==(const ForkState&) const = default;
};
// Initial-exec: no allocation at the first access.
thread_local ForkState t_fork __attribute__((tls_model("initial-exec")));

// Changes no memory that is right already: each page that is written between two forks is a page fault.
void NoteFork(const ForkState& state) {
  if (t_fork != state) t_fork = state;
}

bool TryLockForFork(std::mutex* mutex) {
  for (int i = 0; i < kForkPauses; ++i) {
    if (mutex->try_lock()) return true;
    nanosleep(&kForkPause, nullptr);
  }
  return mutex->try_lock();
}

}  // namespace

// A start or a stop may be under way, in this thread (a callback that forks) or in another: neither is waited
// for, because it may take seconds.
void ProcessMonitor::PrepareFork() {
  const base::ScopedFloatEnvironment floats;
  ProcessMonitor& self = Instance();
  if (base::IsConfined()) {  // and nothing is left to prepare
    NoteFork({});
    return;
  }
  NoteFork({base::CurrentThreadId(), TryLockForFork(&self.mutex_)});
  if (!t_fork.is_locked) return;
  const lw_stats stats = self.CurrentStats();  // in the child, locks in it may be held for ever
  if (std::memcmp(&stats, &self.forking_stats_, sizeof stats) != 0) self.forking_stats_ = stats;
  if (self.monitor_ != nullptr) self.monitor_->PauseForFork();
}

void ProcessMonitor::FinishForkInParent() {
  ProcessMonitor& self = Instance();
  if (!t_fork.is_locked) return;
  if (self.monitor_ != nullptr) self.monitor_->ResumeAfterFork();
  self.mutex_.unlock();
}

void ProcessMonitor::FinishForkInChild() {
  const base::ScopedFloatEnvironment floats;
  if (base::IsConfined()) return;
  ProcessMonitor& self = Instance();
  new (&self.life_mutex_) std::mutex;  // their owner's id is the parent's
  if (&self.mutex_ == &self.copied_mutex_) new (&self.mutex_) std::mutex;
  ProcessStartUp().Reset();
  ProcessContext().values.ResetLock();
  stack::StackCapturer::AbandonAllInForkedChild();  // also one of a monitor that could not be stopped
  const int tid = base::CurrentThreadId();
  self.registry_.KeepOnlyThread(t_fork.tid, tid);
  if (self.has_thread_end_key_ && pthread_getspecific(self.thread_end_key_) != nullptr)
    pthread_setspecific(self.thread_end_key_, reinterpret_cast<void*>(static_cast<intptr_t>(tid)));
  if (!t_fork.is_locked) self.ForgetUnknownState();
  AddStats(self.forking_stats_, &self.ended_stats_);
  AddStats(self.stopping_stats_, &self.ended_stats_);  // of a stop that only the parent goes on with
  self.forking_stats_ = self.stopping_stats_ = {};
  static_cast<void>(self.upload_.release());  // its thread stayed in the parent
  self.is_wanted_ = false;
  const bool was_on = self.monitor_ != nullptr || self.why_off_ == kIsBeingStopped;
  if (self.monitor_ != nullptr) Monitor::AbandonInForkedChild(std::move(self.monitor_));
  if (was_on) self.why_off_ = kWasForked;
}

// Another thread was changing the members at the moment of the fork: they are created again, and their old
// memory is leaked.
void ProcessMonitor::ForgetUnknownState() {
  new (&request_) std::optional<StartRequest>;
  new (&consent_) std::optional<bool>;
  new (&monitor_) std::unique_ptr<Monitor>;
  new (&upload_) std::unique_ptr<BackgroundUpload>;
  new (&last_run_) std::optional<EndedRun>;
  new (&why_off_) std::string(kIsBeingStopped);
  ended_stats_ = stopping_stats_ = forking_stats_ = {};
}

}  // namespace lagwatch::sdk
