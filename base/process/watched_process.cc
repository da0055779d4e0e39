// SPDX-License-Identifier: Apache-2.0
#include "base/process/watched_process.h"

#include <unistd.h>

#include <atomic>
#include <cstdio>

#include "base/system/thread.h"

namespace lagwatch::base {
namespace {

constinit std::atomic<int32_t> g_other_pid{0};    // 0: none
constinit std::atomic<int32_t> g_peer_reader{0};  // the thread for which g_peer_pid counts; 0: none
constinit std::atomic<int32_t> g_peer_pid{0};

int32_t OtherPid() {
  // Relaxed: only the reader's own stores matter to it. A thread-local would have to be allocated.
  const int32_t reader = g_peer_reader.load(std::memory_order_relaxed);
  if (reader != 0 && reader == CurrentThreadId()) return g_peer_pid.load(std::memory_order_relaxed);
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

ScopedPeerProcess::ScopedPeerProcess(int32_t pid)
    : outer_pid_(g_peer_reader.load() == 0 ? 0 : g_peer_pid.load()) {
  g_peer_pid.store(pid);
  g_peer_reader.store(CurrentThreadId());
}

ScopedPeerProcess::~ScopedPeerProcess() {
  g_peer_pid.store(outer_pid_);
  if (outer_pid_ == 0) g_peer_reader.store(0);
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
