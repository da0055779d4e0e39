// SPDX-License-Identifier: Apache-2.0
// Calls by which a program takes signals without a handler. A thread that blocks and takes all signals by
// turns may block lagwatch's while it is under way; then the program must not see it. Compiled without
// exceptions: see thread_waits.cc.
#pragma once

#include <algorithm>
#include <csignal>
#include <ctime>

#include "base/clock.h"
#include "base/system/seccomp.h"
#include "stack/signal/signal_handler.h"

namespace lagwatch::sdk {

// Calls `take(siginfo_t*, const timespec*)`, an rt_sigtimedwait(2), until it returns another signal than one
// of lagwatch's; for the rest of the time. Context: signal.
template <typename Take>
int TakeProgramsSignal(siginfo_t* info, const timespec* timeout, Take take) {
  if (base::IsConfined()) return take(info, timeout);
  siginfo_t unwanted;
  if (info == nullptr) info = &unwanted;
  const int64_t begin_ns = timeout == nullptr ? 0 : base::SystemClock().MonoNs();
  int taken = take(info, timeout);
  if (taken <= 0 || !stack::IsOwnSignal(*info)) [[likely]]
    return taken;
  timespec left{};
  do {
    if (timeout != nullptr) {
      const int64_t whole_ns = timeout->tv_sec * base::kNsPerSecond + timeout->tv_nsec;
      const int64_t left_ns = std::max<int64_t>(begin_ns + whole_ns - base::SystemClock().MonoNs(), 0);
      left = {left_ns / base::kNsPerSecond, left_ns % base::kNsPerSecond};
    }
    taken = take(info, timeout == nullptr ? nullptr : &left);
  } while (taken > 0 && stack::IsOwnSignal(*info));
  return taken;
}

}  // namespace lagwatch::sdk
