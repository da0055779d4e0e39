// SPDX-License-Identifier: Apache-2.0
#include "watchdog/samples/thread_lister.h"

#include <ctime>

#include "base/clock.h"
#include "base/process/own_memory.h"
#include "base/process/own_names.h"
#include "base/process/own_threads.h"
#include "base/process/proc_file.h"
#include "base/system/thread.h"

namespace lagwatch::watchdog {
namespace {

constexpr int64_t kBudgetNs = 200 * base::kNsPerMs;
// Every capture of a running thread costs it a moment: the process as a whole gets to breathe in between.
constexpr size_t kBatchSize = 16;
constexpr timespec kPauseBetweenBatches{.tv_sec = 0, .tv_nsec = base::kNsPerMs};

int64_t NowNs() { return base::SystemClock().MonoNs(); }

bool IsWhole(const stack::Stack& stack) {
  return stack.HasOutermost() || stack.completeness == stack::Completeness::kCut;
}

// A program that links lagwatch and is preloaded, too, has two of them.
bool IsOfOtherLagwatch(const ThreadSnapshot& thread, const base::Process& process) {
  return thread.tid != process.pid() && base::IsOwnThreadName(thread.name);
}

}  // namespace

ThreadLister::ThreadLister(int32_t max_threads)
    : capacity_(static_cast<size_t>(max_threads)),
      records_(base::MapOwnBlock<Record>(capacity_)),
      places_(new Place[capacity_]()),
      listed_(new const ThreadSnapshot*[capacity_]),
      running_(new Record*[capacity_]) {}

void ThreadLister::Capture(int32_t watched_tid, const stack::Stack& watched_stack,
                           stack::StackCapturer* capturer) {
  count_ = 0;
  running_count_ = 0;
  dropped_count_ = 0;
  reused_count_ = 0;
  own_count_ = 0;
  ++look_;
  process_ = capturer->process();
  const int64_t deadline_ns = NowNs() + kBudgetNs;
  if (Record* watched = List(watched_tid)) {
    watched->snapshot.stack.CopyFrom(watched_stack);
    watched->is_stack_kept = false;  // it is the hang's most expensive one, not its last
    if (stack::IsScriptThread(watched_tid)) capturer->NameScriptThread(watched_tid, watched->snapshot.name);
    if (watched_stack.frame_count == 0) ReadWaitChannelOf(watched);
  }
  const int32_t own_tid = process_.is_core() ? 0 : base::CurrentThreadId();
  base::ForEachThread(process_, [&](int tid) {
    if (tid == watched_tid) return true;
    const base::ThreadOwner owner = base::OwnerOfThread(tid);
    if (tid == own_tid || owner == base::ThreadOwner::kLagwatch) {
      ++own_count_;
      return true;
    }
    if (NowNs() >= deadline_ns) {
      ++dropped_count_;
      return true;
    }
    Record* record = List(tid);
    if (record == nullptr) return true;
    if (owner == base::ThreadOwner::kProgram && IsOfOtherLagwatch(record->snapshot, process_)) {
      --count_;
      ++own_count_;
      return true;
    }
    if (record->is_stack_kept) {
      ++reused_count_;
      return true;
    }
    record->snapshot.stack.Clear();
    if (record->is_hidden) {  // a signal for each of many threads that only wait is too much
      ReadWaitChannelOf(record);
    } else if (!record->is_asleep) {
      running_[running_count_++] = record;
    } else {
      CaptureOne(capturer, record);
    }
    return true;
  });
  CaptureRunning(capturer, deadline_ns);
  CaptureScriptThreads(watched_tid, deadline_ns, capturer);
}

void ThreadLister::CaptureScriptThreads(int32_t watched_tid, int64_t deadline_ns,
                                        stack::StackCapturer* capturer) {
  constexpr size_t kMost = 64;
  int32_t tids[kMost];
  const size_t count = capturer->ListScriptThreads(tids);
  for (size_t i = 0; i < count && NowNs() < deadline_ns; ++i) {
    if (tids[i] == watched_tid) continue;
    Record* record = List(tids[i]);
    if (record == nullptr) return;
    capturer->NameScriptThread(tids[i], record->snapshot.name);
    capturer->Capture(tids[i], &record->snapshot.stack);
  }
}

void ThreadLister::AddStacks(std::span<const Wait> waits) {
  for (const Wait& wait : waits) {
    if (wait.pid == 0) AddStack(wait.tid, wait.frames);
    if (wait.owner_pid == 0) AddStack(static_cast<uint32_t>(wait.lock.owner_tid), wait.owner_frames);
  }
}

void ThreadLister::AddStack(uint32_t tid, const stack::Stack* stack) {
  if (tid == 0 || stack == nullptr || stack->frame_count == 0) return;
  for (size_t i = 0; i < capacity_; ++i) {
    if (places_[i].last_look != look_ || places_[i].tid != static_cast<int32_t>(tid)) continue;
    stack::Stack& known = records_[i].snapshot.stack;
    if (known.frame_count == 0) known.CopyFrom(*stack);
  }
}

void ThreadLister::CaptureRunning(stack::StackCapturer* capturer, int64_t deadline_ns) {
  for (size_t i = 0; i < running_count_ && NowNs() < deadline_ns; ++i) {
    if (i != 0 && i % kBatchSize == 0) nanosleep(&kPauseBetweenBatches, nullptr);
    CaptureOne(capturer, running_[i]);
  }
}

void ThreadLister::CaptureOne(stack::StackCapturer* capturer, Record* record) const {
  ThreadSnapshot& snapshot = record->snapshot;
  capturer->Capture(snapshot.tid, &snapshot.stack);
  // CPU time and place were read before the stack: if they are the same at the next look, so is the stack.
  record->is_stack_kept = record->is_asleep && IsWhole(snapshot.stack);
  if (snapshot.stack.frame_count == 0) ReadWaitChannelOf(record);
}

void ThreadLister::ReadWaitChannelOf(Record* record) const {
  ThreadSnapshot& snapshot = record->snapshot;
  stack::ReadWaitChannel({process_, snapshot.tid}, snapshot.wait_channel, sizeof snapshot.wait_channel);
}

ThreadLister::Record* ThreadLister::List(int32_t tid) {
  Record* record = FindOrTakeRecord(tid);
  if (record == nullptr) {
    ++dropped_count_;
    return nullptr;
  }
  ThreadSnapshot& snapshot = record->snapshot;
  listed_[count_++] = &snapshot;
  const base::Thread thread{process_, tid};
  stack::ReadThreadName(thread, snapshot.name, sizeof snapshot.name);
  int64_t cpu_ns = thread.CpuNs();
  stack::BlockedThread blocked{};
  const stack::ThreadActivity activity = stack::ReadThreadActivity(thread, &blocked);
  record->is_asleep = activity == stack::ThreadActivity::kBlocked;
  record->is_hidden = activity == stack::ThreadActivity::kHidden;
  record->is_stack_kept =
      record->is_stack_kept && record->is_asleep && cpu_ns == snapshot.cpu_ns && blocked == record->blocked;
  if (record->is_stack_kept) return record;  // nothing else can have changed either
  record->blocked = blocked;
  const bool is_script = stack::IsScriptThread(tid);  // it has no files
  snapshot.cpu_ns = is_script ? 0 : cpu_ns;
  snapshot.syscall_number = record->is_asleep ? blocked.syscall_number : -1;
  snapshot.state = is_script ? 'S' : stack::ReadThreadStateLetter(thread);
  snapshot.wait_channel[0] = '\0';
  if (snapshot.state == 'D') ReadWaitChannelOf(record);
  return record;
}

ThreadLister::Record* ThreadLister::FindOrTakeRecord(int32_t tid) {
  size_t index = capacity_;
  for (size_t i = 0; i < capacity_ && index == capacity_; ++i) {
    size_t candidate = (place_hint_ + i) % capacity_;
    if (places_[candidate].tid == tid) index = candidate;
  }
  bool is_known = index != capacity_;
  if (!is_known) index = FindFreePlace();
  if (index == capacity_) return nullptr;
  place_hint_ = index + 1;
  Record& record = records_[index];
  if (!is_known) {
    record.snapshot.tid = tid;
    record.is_stack_kept = false;
  }
  places_[index] = {tid, look_};
  return &record;
}

size_t ThreadLister::FindFreePlace() const {
  size_t oldest = 0;
  for (size_t i = 1; i < capacity_; ++i) {
    if (places_[i].last_look < places_[oldest].last_look) oldest = i;
  }
  return places_[oldest].last_look == look_ ? capacity_ : oldest;
}

}  // namespace lagwatch::watchdog
