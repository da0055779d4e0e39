// SPDX-License-Identifier: Apache-2.0
#include <sys/syscall.h>
#include <unistd.h>

#include "base/process/proc_file.h"
#include "base/process/process.h"
#include "stack/threads/thread_counters.h"
#include "trace/instrument/probes/grace_period.h"

namespace lagwatch::trace {

GracePeriod::GracePeriod() {
  const auto own_tid = static_cast<int32_t>(syscall(SYS_gettid));
  base::ForEachThread(base::Process::Own(), [&](int tid) {
    const base::Thread thread = base::OwnThread(tid);
    stack::ThreadStat stat;
    // One that sleeps is in a system call. One that waits for memory or is stopped may be anywhere.
    if (tid != own_tid && stack::ReadThreadStat(thread, &stat) && stat.state != 'S')
      runners_.push_back({tid, thread.CpuNs()});
    return true;
  });
}

bool GracePeriod::IsOver() {
  std::erase_if(runners_, [](const Runner& runner) {
    return base::OwnThread(runner.tid).CpuNs() != runner.cpu_ns;  // -1 when it is gone
  });
  return runners_.empty();
}

}  // namespace lagwatch::trace
