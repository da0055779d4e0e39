// SPDX-License-Identifier: Apache-2.0
#include <string_view>

#include "base/clock.h"
#include "base/proc_file.h"
#include "watchdog/thread_run_time.h"

namespace lagwatch::watchdog {

bool ReadThreadRunTime(int tid, ThreadRunTime* run_time) {
  char buffer[4096];
  std::string_view status = base::ReadSmallFile(base::TaskPath(tid, "status").c_str(), buffer, sizeof buffer);
  constexpr std::string_view kField = "\nvoluntary_ctxt_switches:\t";
  size_t at = status.find(kField);
  if (at == std::string_view::npos) return false;
  status.remove_prefix(at + kField.size());
  uint64_t switches;
  if (!base::ConsumeDecimal(&status, &switches)) return false;
  run_time->voluntary_switches = static_cast<int64_t>(switches);

  // The clock is exact; schedstat's first number is as old as the scheduler's last look.
  int64_t cpu_ns = base::ThreadCpuNs(tid);
  if (cpu_ns < 0) return false;
  std::string_view schedstat =
      base::ReadSmallFile(base::TaskPath(tid, "schedstat").c_str(), buffer, sizeof buffer);
  uint64_t scheduled_ns;
  uint64_t waited_ns = 0;
  bool is_known =
      base::ConsumeDecimal(&schedstat, &scheduled_ns) && base::ConsumeDecimal(&schedstat, &waited_ns);
  run_time->runnable_ns = cpu_ns + (is_known ? static_cast<int64_t>(waited_ns) : 0);
  return true;
}

}  // namespace lagwatch::watchdog
