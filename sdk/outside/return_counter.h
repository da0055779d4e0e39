// SPDX-License-Identifier: Apache-2.0
// Counts how often a call of a thread of another process returns. Two ways, the first that works here:
// - a hardware breakpoint of that thread alone, at the place to which the call returns. The first return
//   turns it off: some 9 us of the thread's, in a virtual machine. Needs perf_event_paranoid of 2 or less.
// - the kernel's tracepoint of that system call, filtered by the thread. The thread's own call takes 0.1
//   to 0.2 us longer, and all system calls of the machine take the kernel's slow path meanwhile. Its number
//   is in tracefs, which only root reads.
// Source: perf_event_open(2), PERF_TYPE_BREAKPOINT and PERF_TYPE_TRACEPOINT.
#pragma once

#include <cstdint>
#include <optional>

#include "base/owned_fd.h"

namespace lagwatch::sdk {

// Of one thread's calls. Thread safety: one thread's. Context: background.
class ReturnCounter {
 public:
  enum class Way : uint8_t { kNone, kBreakpoint, kTracepoint };
  // The way that works here: each is tried, on this thread.
  static Way WayHere();

  // A call of a thread: its system call's number, and the address to which it returns.
  struct Call {
    int32_t tid = 0;
    uint64_t number = 0;
    uint64_t return_address = 0;
  };

  // Counts from now on. Without effect where neither way works.
  void Arm(const Call& call);
  // Counts no longer. The tracepoint stays for a while, since the kernel takes some 20 ms to remove one.
  void Disarm();
  // To be called with each look that needs no count: after ten in a row while it is not armed, the tracepoint
  // is removed.
  void Rest();
  bool is_armed() const { return is_armed_; }
  // Returns since Arm(): by a breakpoint, 0 or 1. None if it is not armed, or if the breakpoint proves
  // nothing: then it is not armed any more, and Arm() takes the other way.
  std::optional<uint64_t> Read();

 private:
  bool CountByTracepoint(const Call& call);

  bool is_armed_ = false;
  base::OwnedFd breakpoint_;
  base::OwnedFd tracepoint_;
  uint64_t traced_number_ = 0;  // tracepoint_'s call
  uint32_t rests_ = 0;
};

}  // namespace lagwatch::sdk
