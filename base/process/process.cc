// SPDX-License-Identifier: Apache-2.0
#include "base/process/process.h"

#include <unistd.h>

#include <cstdio>

#include "base/process/core_image.h"
#include "base/system/proc_ids.h"

namespace lagwatch::base {
namespace {

constinit const CoreImage* g_core_image = nullptr;  // set before any value that uses it is handed out

}  // namespace

Process Process::Core(const CoreImage* image) {
  g_core_image = image;
  return Process(-image->pid());
}

const CoreImage* Process::core() const { return is_core() ? g_core_image : nullptr; }

int32_t Process::pid() const { return is_own() ? getpid() : is_core() ? -other_pid_ : other_pid_; }

int32_t Process::proc_id() const { return is_own() ? ProcIdOfThread(getpid()) : is_core() ? 0 : other_pid_; }

ProcessPath::ProcessPath(const Process& process, const char* leaf) {
  if (process.is_own()) {
    std::snprintf(text_, sizeof text_, "/proc/self/%s", leaf);
  } else if (process.is_core()) {
    std::snprintf(text_, sizeof text_, "%.24s/%s", process.core()->folder(), leaf);
  } else {
    std::snprintf(text_, sizeof text_, "/proc/%d/%s", process.pid(), leaf);
  }
}

}  // namespace lagwatch::base
