// SPDX-License-Identifier: Apache-2.0
#include "watchdog/samples/thread_loads.h"

#include <utility>

#include "base/process/own_threads.h"
#include "base/process/proc_file.h"
#include "base/system/thread.h"

namespace lagwatch::watchdog {

ThreadLoads::ThreadLoads(int32_t max_threads)
    : capacity_(static_cast<size_t>(max_threads)),
      before_(new Record[capacity_]),
      now_(new Record[capacity_]) {}

bool ThreadLoads::Look(const base::Process& process, int64_t now_ns) {
  const bool had_baseline = std::exchange(has_baseline_, true);
  const int32_t own_tid = base::CurrentThreadId();
  size_t count = 0;
  bool are_all_listed = true;
  busiest_.Clear();
  hint_ = 0;
  base::ForEachThread(process, [&](int tid) {
    if (tid == own_tid || base::OwnerOfThread(tid) == base::ThreadOwner::kLagwatch) return true;
    are_all_listed = count < capacity_;
    if (!are_all_listed) return false;
    const int64_t cpu_ns = base::Thread{process, tid}.CpuNs();
    if (cpu_ns < 0) return true;  // it has ended
    now_[count++] = {tid, cpu_ns};
    if (!had_baseline) return true;
    const int64_t before_ns = CpuBefore(tid);
    if (before_ns >= 0) busiest_.Add({tid, cpu_ns - before_ns});
    return true;
  });
  std::swap(before_, now_);
  before_count_ = count;
  were_all_listed_ = are_all_listed;
  wall_ns_ = now_ns - std::exchange(last_look_ns_, now_ns);
  return had_baseline;
}

int64_t ThreadLoads::CpuBefore(int32_t tid) {
  for (size_t i = 0; i < before_count_; ++i) {
    const size_t at = hint_ + i < before_count_ ? hint_ + i : hint_ + i - before_count_;
    if (before_[at].tid != tid) continue;
    hint_ = at + 1 < before_count_ ? at + 1 : 0;
    return before_[at].cpu_ns;
  }
  return were_all_listed_ ? 0 : -1;  // it began since; or there was no room for it
}

}  // namespace lagwatch::watchdog
