// SPDX-License-Identifier: Apache-2.0
#include "base/process/process.h"

#include <unistd.h>

#include <cstdio>

#include "base/system/proc_ids.h"

namespace lagwatch::base {

int32_t Process::pid() const { return is_own() ? getpid() : other_pid_; }

int32_t Process::proc_id() const { return is_own() ? ProcIdOfThread(getpid()) : other_pid_; }

ProcessPath::ProcessPath(const Process& process, const char* leaf) {
  if (process.is_own()) {
    std::snprintf(text_, sizeof text_, "/proc/self/%s", leaf);
  } else {
    std::snprintf(text_, sizeof text_, "/proc/%d/%s", process.pid(), leaf);
  }
}

}  // namespace lagwatch::base
