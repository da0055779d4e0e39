// SPDX-License-Identifier: Apache-2.0
#include <pthread.h>

#include <algorithm>
#include <ctime>

#include "trace/hooks/calls/lock_wait.h"
#include "trace/hooks/hook_table.h"

namespace lagwatch::trace {
namespace {

constinit RealFunction<int(pthread_cond_t*, pthread_mutex_t*)> real_cond_wait;
constinit RealFunction<int(pthread_cond_t*, pthread_mutex_t*, const timespec*)> real_cond_timedwait;
constinit RealFunction<int(pthread_cond_t*, pthread_mutex_t*, clockid_t, const timespec*)>
    real_cond_clockwait;
constinit RealFunction<int(pthread_cond_t*)> real_cond_signal;
constinit RealFunction<int(pthread_cond_t*)> real_cond_broadcast;

// The wait releases the mutex where no hook sees it: the release is recorded before the wait if a waiter for
// the mutex is known, else afterwards, when the wait is over.
template <typename Wait>
int WaitForCondition(const CallRegisters& from, const void* condition, const void* mutex, Wait wait) {
  const uint64_t mutex_object = ObjectOf(mutex);
  const uint64_t begin_ticks = base::ReadTicks();
  const WaiterTable::Watch watch = g_waiters.BeforeRelease(mutex_object);
  if (watch.has_waiter) CaptureWake(from, CallKind::kMutex, mutex_object, begin_ticks);
  int error;
  {
    ScopedWaiter waiter(from, ObjectOf(condition));
    error = wait();
  }
  if (!watch.has_waiter && g_waiters.AfterRelease(mutex_object, watch)) {
    // It was released soon after the wait began.
    const auto waited_ticks = static_cast<int64_t>(base::ReadTicks() - begin_ticks);
    const int64_t soon_ticks =
        std::min(waited_ticks, g_capture.wait_ticks.load(std::memory_order_relaxed));  // a number
    Capture(from, {RunKind::kWoke, CallKind::kMutex, mutex_object, begin_ticks,
                   begin_ticks + static_cast<uint64_t>(soon_ticks)});
  }
  CaptureAfter(from, CallKind::kCondition, ObjectOf(condition), begin_ticks);
  return error;
}

int HookCondWait(pthread_cond_t* condition, pthread_mutex_t* mutex) {
  if (!IsRecording()) return real_cond_wait(condition, mutex);
  return WaitForCondition(CallersRegisters(), condition, mutex,
                          [=] { return real_cond_wait(condition, mutex); });
}

int HookCondTimedwait(pthread_cond_t* condition, pthread_mutex_t* mutex, const timespec* until) {
  if (!IsRecording()) return real_cond_timedwait(condition, mutex, until);
  return WaitForCondition(CallersRegisters(), condition, mutex,
                          [=] { return real_cond_timedwait(condition, mutex, until); });
}

int HookCondClockwait(pthread_cond_t* condition, pthread_mutex_t* mutex, clockid_t clock,
                      const timespec* until) {
  if (!IsRecording()) return real_cond_clockwait(condition, mutex, clock, until);
  return WaitForCondition(CallersRegisters(), condition, mutex,
                          [=] { return real_cond_clockwait(condition, mutex, clock, until); });
}

int HookCondSignal(pthread_cond_t* condition) {
  return ReleaseAndLook(CallKind::kCondition, condition, [=] { return real_cond_signal(condition); });
}

int HookCondBroadcast(pthread_cond_t* condition) {
  return ReleaseAndLook(
      CallKind::kCondition, condition, [=] { return real_cond_broadcast(condition); },
      /*is_for_all=*/true);
}

}  // namespace

void AddConditionHooks(HookTable* table) {
  table->Add(kLockHooks, "pthread_cond_wait", HookCondWait, &real_cond_wait);
  table->Add(kLockHooks, "pthread_cond_timedwait", HookCondTimedwait, &real_cond_timedwait);
  table->Add(kLockHooks, "pthread_cond_clockwait", HookCondClockwait, &real_cond_clockwait);
  table->Add(kLockHooks, "pthread_cond_signal", HookCondSignal, &real_cond_signal);
  table->Add(kLockHooks, "pthread_cond_broadcast", HookCondBroadcast, &real_cond_broadcast);
}

}  // namespace lagwatch::trace
