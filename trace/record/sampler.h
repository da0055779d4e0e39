// SPDX-License-Identifier: Apache-2.0
// A thread that samples others at regular times: one for the main thread, some for groups of the rest, so
// that no group waits for another. It reads the stacks of sleeping threads only; running threads capture
// themselves at their CPU timers' signals. A thread that has not run since its last sample is not sampled
// again: the run of its stack is extended, as in async-profiler's wall-clock mode.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>

#include "base/process/mapped_array.h"
#include "base/process/quiet_thread.h"
#include "base/process/sleeper.h"
#include "stack/stack_capturer.h"
#include "trace/record/cpu_timers.h"
#include "trace/record/dispatch_source.h"
#include "trace/record/recorder_state.h"
#include "trace/record/run_writer.h"

namespace lagwatch::trace {

// Thread safety: Add, Remove, Start and TryStop from one thread, the recorder's.
class Sampler {
 public:
  // `state` is borrowed with all that it points to. `interval_ns` is read at each tick, and may change at any
  // time. `dispatches` is borrowed; may be null. Context: background.
  Sampler(const RecorderState& state, BlockPool pool, std::unique_ptr<stack::StackCapturer> capturer,
          const std::atomic<int64_t>* interval_ns, const DispatchSource* dispatches = nullptr);

  // Wakes `who_lists` from now on when a thread has ended; and, if it `counts` all threads at each tick, when
  // there are more, or fewer. Before Start.
  void LookOutForThreads(base::Sleeper* who_lists, bool counts) {
    who_lists_ = who_lists;
    counts_threads_ = counts;
  }
  // Threads that run are not looked at. Before Start.
  void LeaveTimersOut() { has_timers_ = false; }
  base::Status Start(const char* thread_name);
  // Any thread.
  void AskToStop();
  // False when the thread does not end in time: then all of it must be leaked. Context: background.
  [[nodiscard]] bool TryStop();

  // The thread is looked at from the next tick on. Context: watchdog.
  void Add(int32_t tid, uint32_t place);
  // Calls `visit(place)` for each thread that has ended, and forgets it. Context: watchdog.
  template <typename Visit>
  void TakeEnded(Visit visit) {
    const std::lock_guard lock(mutex_);
    for (uint32_t place : ended_) visit(place);
    ended_.Resize(0);
  }
  // The number of threads that it samples or will sample. Context: watchdog.
  size_t thread_count() const { return thread_count_.load(std::memory_order_relaxed); }  // only a number
  // Its thread; 0 when that does not run (yet).
  int tid() const { return tid_.load(); }

 private:
  struct Target {
    int32_t tid;
    uint32_t place;
    int64_t cpu_ns;  // when its stack was seen last
    uint32_t depth;  // of the stack then
    CpuTimer timer;
    uint8_t timer_tries;
    uint64_t stamp;   // the thread's time of the last look, as the sampler left it
    int activity_fd;  // stack::ThreadFile::kActivity; -1: none
  };

  static void Run(void* self);
  void CountThreads();
  void Forget(Target* target);
  uint32_t DispatchOf(const Target& target) const {
    return dispatches_ == nullptr ? 0 : dispatches_->DispatchOf(target.tid);
  }
  void TakeAdded();
  void Tick(int64_t interval_ns);
  // Whether the thread captured itself so recently that no sample is needed. Its capture ends the run.
  bool HasLookedAtItself(Target* target, int64_t interval_ns);
  // False when the thread has ended.
  bool Look(Target* target, int64_t interval_ns);
  // Records the stack captured in stack_ at `now_ns`, when the CPU clock showed `cpu_ns`.
  void NoteStack(Target* target, int64_t cpu_ns, uint32_t dispatch, int64_t now_ns, int64_t interval_ns);
  void Extend(const Target& target, int64_t now_ns);
  void Count(const Target& target);
  void Note(const Target& target, uint32_t stack, uint32_t dispatch, int64_t now_ns, int64_t interval_ns);
  // Writes down the run under way, if there is one.
  void Finish(uint32_t place);
  // When the next tick is due after one that was due at `due_ns`.
  int64_t NextDue(int64_t due_ns, int64_t interval_ns);
  // Timers go by the signal that is ours, and by the interval.
  void KeepTimers(int64_t interval_ns);
  void CreateTimer(Target* target, int64_t interval_ns);

  RecorderState state_;
  RecordCounters* counters_;
  std::unique_ptr<stack::StackCapturer> capturer_;
  const std::atomic<int64_t>* interval_ns_;
  const DispatchSource* dispatches_;  // may be null
  RunWriter writer_;
  base::MappedArray<Target> targets_;
  bool has_timers_ = true;
  int64_t last_interval_ns_ = 0;  // that of the timers
  int timer_signal_ = 0;          // likewise; 0: none
  std::unique_ptr<stack::Stack> stack_;
  bool has_own_files_ = false;  // descriptors that the program neither sees nor closes
  base::Sleeper* who_lists_ = nullptr;
  bool counts_threads_ = false;
  int tasks_fd_ = -1;
  uint64_t process_threads_ = 0;
  std::mutex mutex_;  // of the next two; held for a moment only
  base::MappedArray<Target> added_;
  base::MappedArray<uint32_t> ended_;
  std::atomic<size_t> thread_count_{0};
  std::atomic<int> tid_{0};
  std::atomic<bool> stopping_{false};
  base::Sleeper sleeper_;
  base::QuietThread thread_;
};

}  // namespace lagwatch::trace
