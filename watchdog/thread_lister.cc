// SPDX-License-Identifier: Apache-2.0
#include "watchdog/thread_lister.h"

#include <unistd.h>

#include "base/clock.h"
#include "base/proc_file.h"
#include "stack/thread_state.h"

namespace lagwatch::watchdog {

ThreadLister::ThreadLister(int32_t max_threads)
    : capacity_(static_cast<size_t>(max_threads)), threads_(new ThreadSnapshot[capacity_]) {}

void ThreadLister::Capture(int32_t watched_tid, const stack::Stack& watched_stack,
                           stack::StackCapturer* capturer) {
  count_ = 0;
  dropped_count_ = 0;
  if (ThreadSnapshot* watched = Add(watched_tid)) watched->stack.CopyFrom(watched_stack);
  int32_t own_tid = gettid();
  // Other loops are not looked at meanwhile, so this must not take long, however many threads do not answer.
  constexpr int64_t kBudgetNs = 200 * base::kNsPerMs;
  const int64_t deadline_ns = base::SystemClock().MonoNs() + kBudgetNs;
  base::ForEachThread([&](int tid) {
    if (tid == watched_tid || tid == own_tid) return true;
    if (base::SystemClock().MonoNs() > deadline_ns) {
      ++dropped_count_;
    } else if (ThreadSnapshot* thread = Add(tid)) {
      capturer->Capture(tid, &thread->stack);
    }
    return true;
  });
}

ThreadSnapshot* ThreadLister::Add(int32_t tid) {
  if (count_ == capacity_) {
    ++dropped_count_;
    return nullptr;
  }
  ThreadSnapshot& thread = threads_[count_++];
  thread.tid = tid;
  thread.state = stack::ReadThreadStateLetter(tid);
  thread.cpu_ns = base::ThreadCpuNs(tid);
  stack::ReadThreadName(tid, thread.name, sizeof thread.name);
  return &thread;
}

}  // namespace lagwatch::watchdog
