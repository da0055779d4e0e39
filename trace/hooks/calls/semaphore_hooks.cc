// SPDX-License-Identifier: Apache-2.0
#include <pthread.h>
#include <semaphore.h>

#include <cerrno>
#include <ctime>

#include "trace/hooks/calls/lock_wait.h"
#include "trace/hooks/hook_table.h"

namespace lagwatch::trace {
namespace {

constinit RealFunction<int(sem_t*)> real_sem_wait;
constinit RealFunction<int(sem_t*)> real_sem_trywait;
constinit RealFunction<int(sem_t*, const timespec*)> real_sem_timedwait;
constinit RealFunction<int(sem_t*, clockid_t, const timespec*)> real_sem_clockwait;
constinit RealFunction<int(sem_t*)> real_sem_post;

// Returns true if the semaphore was available; otherwise errno stays unchanged.
bool TrySemaphore(sem_t* semaphore) {
  const int saved_errno = errno;
  if (real_sem_trywait(semaphore) == 0) return true;
  errno = saved_errno;
  return false;
}

template <typename Wait>
int WaitForSemaphore(const CallRegisters& from, sem_t* semaphore, Wait wait) {
  const uint64_t object = ObjectOf(semaphore);
  const uint64_t begin_ticks = base::ReadTicks();
  int result;
  {
    ScopedWaiter waiter(from, object);
    if (TrySemaphore(semaphore)) return 0;
    result = wait();
  }
  Capture(from, {RunKind::kWaited, CallKind::kSemaphore, object, begin_ticks, base::ReadTicks()});
  return result;
}

template <typename Wait>
[[gnu::always_inline]] inline int TryThenWait(sem_t* semaphore, Wait wait) {
  if (!IsRecording()) return wait();
  if (TrySemaphore(semaphore)) [[likely]]
    return 0;
  return WaitForSemaphore(CallersRegisters(), semaphore, wait);
}

int HookSemWait(sem_t* semaphore) {
  pthread_testcancel();  // as the wait does, which to try does not
  return TryThenWait(semaphore, [=] { return real_sem_wait(semaphore); });
}

int HookSemTrywait(sem_t* semaphore) {
  const int result = real_sem_trywait(semaphore);
  if (result != 0) CaptureOften(CallKind::kSemaphore);  // perhaps it goes on trying for long
  return result;
}

// An invalid time or clock is refused even if the semaphore is available.
bool IsValid(clockid_t clock, const timespec* until) {
  return (clock == CLOCK_REALTIME || clock == CLOCK_MONOTONIC) && until->tv_nsec >= 0 &&
         until->tv_nsec < 1'000'000'000;
}

int HookSemTimedwait(sem_t* semaphore, const timespec* until) {
  if (!IsValid(CLOCK_REALTIME, until)) return real_sem_timedwait(semaphore, until);
  return TryThenWait(semaphore, [=] { return real_sem_timedwait(semaphore, until); });
}

int HookSemClockwait(sem_t* semaphore, clockid_t clock, const timespec* until) {
  if (!IsValid(clock, until)) return real_sem_clockwait(semaphore, clock, until);
  return TryThenWait(semaphore, [=] { return real_sem_clockwait(semaphore, clock, until); });
}

int HookSemPost(sem_t* semaphore) {
  return ReleaseAndLook(CallKind::kSemaphore, semaphore, [=] { return real_sem_post(semaphore); });
}

}  // namespace

void AddSemaphoreHooks(HookTable* table) {
  table->Add(kLockHooks, "sem_wait", HookSemWait, &real_sem_wait);
  table->Add(kLockHooks, "sem_trywait", HookSemTrywait, &real_sem_trywait);
  table->Add(kLockHooks, "sem_timedwait", HookSemTimedwait, &real_sem_timedwait);
  table->Add(kLockHooks, "sem_clockwait", HookSemClockwait, &real_sem_clockwait);
  table->Add(kLockHooks, "sem_post", HookSemPost, &real_sem_post);
}

}  // namespace lagwatch::trace
