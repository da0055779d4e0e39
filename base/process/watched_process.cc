// SPDX-License-Identifier: Apache-2.0
#include "base/process/watched_process.h"

#include <unistd.h>

#include <atomic>
#include <cstdio>

namespace lagwatch::base {
namespace {

constinit std::atomic<int32_t> g_other_pid{0};  // 0: none

int32_t OtherPid() {
  // Relaxed: set before any other thread of lagwatch is there.
  return g_other_pid.load(std::memory_order_relaxed);
}

}  // namespace

void WatchFromOutside(int32_t pid) { g_other_pid.store(pid); }

bool IsWatchedFromOutside() { return OtherPid() != 0; }

int32_t WatchedPid() {
  const int32_t other = OtherPid();
  return other != 0 ? other : getpid();
}

ProcessPath::ProcessPath(const char* leaf) {
  const int32_t other = OtherPid();
  if (other == 0) {
    std::snprintf(text_, sizeof text_, "/proc/self/%s", leaf);
  } else {
    std::snprintf(text_, sizeof text_, "/proc/%d/%s", other, leaf);
  }
}

}  // namespace lagwatch::base
