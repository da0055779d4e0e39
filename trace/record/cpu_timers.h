// SPDX-License-Identifier: Apache-2.0
// Has running threads look at themselves: a timer on each one's CPU clock interrupts it every so much CPU
// time, on the processor that it runs on. Threads that sleep are left alone, and nobody else waits for
// anything. As async-profiler's CPU-timer mode.
#pragma once

#include <cstdint>

namespace lagwatch::trace {

// One thread's. Plain data; to be deleted by whoever made it.
class CpuTimer {
 public:
  // Thread `tid` of this process gets `signal_number`, which a stack::StackCapturer has the handler of. False
  // when the system has no more timers for us, or the thread has no room for a signal handler. Context:
  // watchdog.
  bool Create(int32_t tid, int signal_number, int64_t interval_ns);
  bool is_there() const { return id_ != kNone; }
  void SetInterval(int64_t interval_ns) const;
  void Delete();

 private:
  static constexpr int kNone = -1;

  int32_t tid_ = 0;
  int id_ = kNone;  // the kernel's
};

// What the timers' signals have threads do: write down where they are (trace/hooks/capture.h). Context:
// background.
void ActOnCpuTimers(bool is_wanted);

}  // namespace lagwatch::trace
