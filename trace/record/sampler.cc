// SPDX-License-Identifier: Apache-2.0
#include "trace/record/sampler.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "base/clock.h"
#include "base/system/thread.h"
#include "base/ticks.h"
#include "trace/hooks/hook_recorder.h"

namespace lagwatch::trace {
namespace {

constexpr size_t kSamplerStackBytes = 512 * 1024;
constexpr int64_t kSamplerStopNs = 3 * base::kNsPerSecond;
constexpr int64_t kShortestIntervalNs = 1 * base::kNsPerMs;
constexpr int64_t kLongestIntervalNs = 100 * base::kNsPerMs;

// A thread that captured itself within this time is not sampled: for longer it would be seen only
// inside its calls.
constexpr int64_t kSelfIntervalNs = 1 * base::kNsPerMs;

constexpr uint8_t kTimerTries = 10;

int64_t Now() { return base::SystemClock().MonoNs(); }

}  // namespace

Sampler::Sampler(const RecorderState& state, BlockPool pool, std::unique_ptr<stack::StackCapturer> capturer,
                 const std::atomic<int64_t>* interval_ns, const DispatchSource* dispatches)
    : state_(state),
      counters_(&state.arena->header().counters),
      capturer_(std::move(capturer)),
      interval_ns_(interval_ns),
      dispatches_(dispatches),
      writer_(pool, counters_),
      stack_(new stack::Stack) {}

base::Status Sampler::Start(const char* thread_name) {
  return thread_.Start(thread_name, kSamplerStackBytes, &Sampler::Run, this);
}

void Sampler::AskToStop() {
  stopping_.store(true);
  sleeper_.Wake();
}

bool Sampler::TryStop() {
  AskToStop();
  return thread_.TryJoin(kSamplerStopNs);
}

void Sampler::Add(int32_t tid, uint32_t place) {
  const std::lock_guard lock(mutex_);
  if (!added_.PushBack({tid, place, 0, 0, {}, 0, 0, -1})) return;
  if (thread_count_.fetch_add(1) == 0) sleeper_.Wake();
}

void Sampler::Run(void* self) {
  auto* sampler = static_cast<Sampler*>(self);
  sampler->tid_.store(base::CurrentThreadId());
  LeaveThisThreadOut();
  sampler->has_own_files_ = base::HasOwnFiles();
  int64_t due_ns = Now();
  const std::atomic<uint32_t>& is_stop_wanted = sampler->state_.arena->header().is_stop_wanted;
  while (!sampler->stopping_.load() &&
         is_stop_wanted.load(std::memory_order_relaxed) == 0) {  // by any process
    const int64_t interval_ns = std::clamp(sampler->interval_ns_->load(std::memory_order_relaxed),
                                           kShortestIntervalNs, kLongestIntervalNs);
    sampler->Tick(interval_ns);
    due_ns = sampler->NextDue(due_ns, interval_ns);
    sampler->sleeper_.SleepUntil(due_ns);
  }
  for (Target& target : sampler->targets_) sampler->Forget(&target);
  sampler->writer_.Close();
}

int64_t Sampler::NextDue(int64_t due_ns, int64_t interval_ns) {
  if (thread_count() == 0 && !counts_threads_) return base::Sleeper::kForever;
  const int64_t now_ns = Now();
  if (due_ns == base::Sleeper::kForever) return now_ns + interval_ns;
  due_ns += interval_ns;
  if (now_ns < due_ns) return due_ns;
  counters_->late_ticks.Add(static_cast<uint64_t>((now_ns - due_ns) / interval_ns + 1));
  return now_ns + interval_ns;
}

// Cheaper than the list. If one thread ended and another began meanwhile, the next regular
// listing finds them.
void Sampler::CountThreads() {
  if (!counts_threads_) return;
  if (HookRecorder::TakeNewModules()) who_lists_->Wake();
  constexpr const char* kTasks = "/proc/self/task";
  if (tasks_fd_ < 0 && has_own_files_) tasks_fd_ = open(kTasks, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  struct stat tasks {};
  if ((tasks_fd_ < 0 ? stat(kTasks, &tasks) : fstat(tasks_fd_, &tasks)) != 0) return;
  if (std::exchange(process_threads_, tasks.st_nlink) != tasks.st_nlink) who_lists_->Wake();
}

void Sampler::TakeAdded() {
  const std::lock_guard lock(mutex_);
  for (Target target : added_) {
    if (has_own_files_)
      target.activity_fd = stack::OpenThreadFile(base::OwnThread(target.tid), stack::ThreadFile::kActivity);
    if (!targets_.PushBack(target)) Forget(&target);
  }
  added_.Resize(0);
}

void Sampler::Tick(int64_t interval_ns) {
  CountThreads();
  TakeAdded();
  KeepTimers(interval_ns);
  size_t kept = 0;
  for (Target target : targets_) {
    if (Look(&target, interval_ns)) {
      targets_[kept++] = target;
      continue;
    }
    Forget(&target);
    thread_count_.fetch_sub(1);
    const std::lock_guard lock(mutex_);
    ended_.PushBack(target.place);
  }
  const bool has_ended = kept != targets_.size();
  targets_.Resize(kept);
  if (has_ended && who_lists_ != nullptr) who_lists_->Wake();
}

void Sampler::Forget(Target* target) {
  target->timer.Delete();
  if (target->activity_fd >= 0) close(target->activity_fd);
  Finish(target->place);
}

void Sampler::KeepTimers(int64_t interval_ns) {
  const int signal_number = has_timers_ ? capturer_->KeepSignal() : 0;
  if (signal_number != std::exchange(timer_signal_, signal_number)) {
    for (Target& target : targets_) {
      target.timer.Delete();
      target.timer_tries = 0;
    }
    if (signal_number == 0) counters_->timers_refused.Add(targets_.size());
  }
  const bool has_changed = interval_ns != std::exchange(last_interval_ns_, interval_ns);
  for (Target& target : targets_) {
    if (!target.timer.is_there()) {
      CreateTimer(&target, interval_ns);
    } else if (has_changed) {
      target.timer.SetInterval(interval_ns);
    }
  }
}

// A thread that blocks the signal might take it for one of its own, when it waits for signals. Some block all
// of them for a moment.
void Sampler::CreateTimer(Target* target, int64_t interval_ns) {
  if (timer_signal_ == 0 || target->timer_tries == kTimerTries) return;
  ++target->timer_tries;
  const bool is_blocked = stack::IsSignalBlocked(base::OwnThread(target->tid), timer_signal_);
  if (!is_blocked && target->timer.Create(target->tid, timer_signal_, interval_ns)) return;
  if (!is_blocked) target->timer_tries = kTimerTries;
  if (target->timer_tries == kTimerTries) counters_->timers_refused.Add();
}

bool Sampler::Look(Target* target, int64_t interval_ns) {
  const int64_t now_ns = Now();  // first: a thread that has not run by then still has the same stack
  const int64_t cpu_ns = base::ThreadCpuNs(target->tid);
  if (cpu_ns < target->cpu_ns) return false;  // gone, or another thread has its number
  if (HasLookedAtItself(target, interval_ns)) return true;
  counters_->looks.Add();
  const bool is_known = state_.threads->open(target->place).count != 0;
  if (is_known && cpu_ns == target->cpu_ns) {
    Extend(*target, now_ns);
    return true;
  }
  const uint32_t dispatch = DispatchOf(*target);
  if (capturer_->CaptureAsleep(target->tid, stack_.get(), target->activity_fd)) {
    NoteStack(target, cpu_ns, dispatch, Now(), interval_ns);
  } else if (!target->timer.is_there()) {
    counters_->no_answer.Add();
  }
  return true;
}

bool Sampler::HasLookedAtItself(Target* target, int64_t interval_ns) {
  std::atomic<uint64_t>* stamp = LastCaptureTicks(target->tid);
  const auto ticks_per_ms =
      static_cast<int64_t>(state_.ticks_per_ms->load(std::memory_order_relaxed));  // a number
  if (stamp == nullptr || ticks_per_ms == 0) return false;
  const uint64_t now_ticks = base::ReadTicks();
  const uint64_t last_ticks = stamp->load(std::memory_order_relaxed);  // as the thread itself reads it
  if (last_ticks != target->stamp) {
    Finish(target->place);
    target->stamp = last_ticks;
    if (static_cast<int64_t>(now_ticks - last_ticks) <
        std::min(interval_ns, kSelfIntervalNs) / base::kNsPerMs * ticks_per_ms)
      return true;
  }
  stamp->store(now_ticks, std::memory_order_relaxed);
  target->stamp = now_ticks;
  return false;
}

void Sampler::NoteStack(Target* target, int64_t cpu_ns, uint32_t dispatch, int64_t now_ns,
                        int64_t interval_ns) {
  if (DispatchOf(*target) != dispatch) {
    counters_->between_dispatches.Add();
    return;
  }
  uint32_t stack = kNoStack;
  {
    const std::lock_guard lock(*state_.stack_mutex);
    stack = state_.stacks->Intern(*stack_);
  }
  if (stack == kNoStack) return;
  target->cpu_ns = cpu_ns;
  target->depth = stack_->frame_count;
  Note(*target, stack, dispatch, now_ns, interval_ns);
}

void Sampler::Extend(const Target& target, int64_t now_ns) {
  OpenRun run = state_.threads->open(target.place);
  run.end_ns = now_ns;
  ++run.count;
  state_.threads->SetOpen(target.place, run);
  counters_->extended.Add();
  Count(target);
}

void Sampler::Count(const Target& target) {
  counters_->samples.Add();
  counters_->raw_bytes.Add(kRawSampleBytes + target.depth * sizeof(uint64_t));
}

void Sampler::Note(const Target& target, uint32_t stack, uint32_t dispatch, int64_t now_ns,
                   int64_t interval_ns) {
  Count(target);
  const uint32_t is_complete = stack_->HasOutermost();
  OpenRun run = state_.threads->open(target.place);
  const bool is_same = run.count != 0 && run.stack == stack && run.dispatch == dispatch &&
                       run.is_complete == is_complete && now_ns - run.end_ns < 2 * interval_ns;
  if (is_same) {
    run.end_ns = now_ns;
    ++run.count;
  } else {
    Finish(target.place);
    run = {now_ns, now_ns, 1, stack, dispatch, is_complete};
  }
  state_.threads->SetOpen(target.place, run);
}

void Sampler::Finish(uint32_t place) {
  const OpenRun run = state_.threads->open(place);
  if (run.count == 0) return;
  RunRecord record{};
  record.begin_ns = run.begin_ns;
  record.end_ns = run.end_ns;
  record.tid = state_.threads->tid(place);
  record.count = run.count;
  record.stack = run.stack;
  record.dispatch = run.dispatch;
  record.is_complete = run.is_complete != 0;
  writer_.Write(record);
  state_.threads->SetOpen(place, {});
}

}  // namespace lagwatch::trace
