// SPDX-License-Identifier: Apache-2.0
// The process whose memory, threads and files lagwatch looks at: its own, unless it watches another one from
// outside. A process has only one, which all that reads it asks for here.
#pragma once

#include <cstdint>

namespace lagwatch::base {

// From now on, `pid` is the watched process, which nothing is injected into. To be called once, before
// anything else of lagwatch. Linux. Context: background.
void WatchFromOutside(int32_t pid);

// Whether that is another process. Context: any.
bool IsWatchedFromOutside();

// The watched process's id: its own, or the other's. Context: any.
int32_t WatchedPid();

// For as long as it lives, another process is the watched one for the thread that made it, and for no other:
// a peer of the watched process is read with the same code. One thread at a time; scopes may be nested.
// Context: watchdog.
class ScopedPeerProcess {
 public:
  explicit ScopedPeerProcess(int32_t pid);
  ~ScopedPeerProcess();
  ScopedPeerProcess(const ScopedPeerProcess&) = delete;
  ScopedPeerProcess& operator=(const ScopedPeerProcess&) = delete;

 private:
  int32_t outer_pid_;  // of the scope around it; 0: none
};

// Builds a path like "/proc/self/maps" in place, in the watched process's folder. Context: watchdog.
class ProcessPath {
 public:
  explicit ProcessPath(const char* leaf);
  const char* c_str() const { return text_; }

 private:
  char text_[64];
};

}  // namespace lagwatch::base
