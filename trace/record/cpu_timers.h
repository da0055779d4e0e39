// SPDX-License-Identifier: Apache-2.0
// Samples running threads: a timer on each thread's CPU clock interrupts it after a fixed CPU time, on the
// processor that it runs on. Sleeping threads are not disturbed, and no other thread waits. As
// async-profiler's CPU-timer mode.
#pragma once

#include <cstdint>

namespace lagwatch::trace {

// One thread's timer. Plain data; its creator deletes it.
class CpuTimer {
 public:
  // Thread `tid` of this process gets `signal_number`, which a stack::StackCapturer has the handler
  // of. False when the system has no more timers for us, or the thread has no room for a signal
  // handler. Context: watchdog.
  bool Create(int32_t tid, int signal_number, int64_t interval_ns);
  bool is_there() const { return id_ != kNone; }
  void SetInterval(int64_t interval_ns) const;
  void Delete();

 private:
  static constexpr int kNone = -1;

  int32_t tid_ = 0;
  int id_ = kNone;  // the kernel's
};

// Turns the action of the timers' signals on or off: threads capture their stacks
// (trace/hooks/capture.h). Context: background.
void ActOnCpuTimers(bool is_wanted);

}  // namespace lagwatch::trace
