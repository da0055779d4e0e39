// SPDX-License-Identifier: Apache-2.0
#include <sys/syscall.h>
#include <unistd.h>

#include <csignal>
#include <cstring>
#include <ctime>
#include <utility>

#include "base/clock.h"
#include "base/ticks.h"
#include "stack/signal/signal_handler.h"
#include "stack/signal_stacks.h"
#include "trace/hooks/capture.h"
#include "trace/record/cpu_timers.h"

namespace lagwatch::trace {
namespace {

// The kernel's name of another thread's CPU clock (include/linux/posix-timers_types.h:
// per thread, scheduler).
clockid_t CpuClockOf(int32_t tid) { return static_cast<clockid_t>((~static_cast<uint32_t>(tid) << 3) | 6); }

itimerspec Every(int64_t interval_ns) {
  const timespec interval{.tv_sec = interval_ns / base::kNsPerSecond,
                          .tv_nsec = interval_ns % base::kNsPerSecond};
  return {.it_interval = interval, .it_value = interval};
}

void LookAtOneself(const stack::Registers& registers) {
  const uint64_t now_ticks = base::ReadTicks();
  // It is noted as if the instruction were a call's: rules are looked up by the byte before a return address.
  const CallRegisters here{registers.program_counter() + 1, registers.stack_pointer(),
                           registers.value[stack::Registers::kFramePointer],
                           registers.value[stack::Registers::kBasePointer]};
  Capture(here, {RunKind::kSampled, CallKind::kNone, 0, now_ticks, now_ticks, false, &registers});
}

}  // namespace

bool CpuTimer::Create(int32_t tid, int signal_number, int64_t interval_ns) {
  sigevent event;
  std::memset(&event, 0, sizeof event);
  event.sigev_notify = SIGEV_THREAD_ID;
  event.sigev_signo = signal_number;
  event.sigev_value.sival_ptr = reinterpret_cast<void*>(stack::kTimerMark);
  event._sigev_un._tid = tid;
  if (syscall(SYS_timer_create, CpuClockOf(tid), &event, &id_) != 0) {
    id_ = kNone;
    return false;
  }
  tid_ = tid;
  if (!stack::SignalStacks::TryAddTimer(tid, id_)) {
    syscall(SYS_timer_delete, std::exchange(id_, kNone));
    return false;
  }
  SetInterval(interval_ns);
  return true;
}

void CpuTimer::SetInterval(int64_t interval_ns) const {
  const itimerspec every = Every(interval_ns);
  if (is_there()) syscall(SYS_timer_settime, id_, 0, &every, nullptr);
}

void CpuTimer::Delete() {
  if (is_there() && stack::SignalStacks::RemoveTimer(tid_, id_)) syscall(SYS_timer_delete, id_);
  id_ = kNone;
}

void ActOnCpuTimers(bool is_wanted) {
  stack::g_timer_action.store(is_wanted ? LookAtOneself : nullptr,
                              std::memory_order_release);  // pairs with the handler
}

}  // namespace lagwatch::trace
