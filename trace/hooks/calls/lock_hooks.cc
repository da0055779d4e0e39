// SPDX-License-Identifier: Apache-2.0
// The hooks of the C library's locks: mutexes, read-write locks, condition variables, semaphores, barriers,
// and joins.
#include <pthread.h>
#include <semaphore.h>

#include <algorithm>
#include <cerrno>
#include <ctime>

#include "base/process/cancellation.h"
#include "trace/hooks/calls/lock_wait.h"
#include "trace/hooks/hook_table.h"

namespace lagwatch::trace {
namespace {

// Mutexes.

constexpr CallKind kMutex = CallKind::kMutex;

constinit RealFunction<int(pthread_mutex_t*)> real_mutex_lock;
constinit RealFunction<int(pthread_mutex_t*)> real_mutex_trylock;
constinit RealFunction<int(pthread_mutex_t*, const timespec*)> real_mutex_timedlock;
constinit RealFunction<int(pthread_mutex_t*, clockid_t, const timespec*)> real_mutex_clocklock;
constinit RealFunction<int(pthread_mutex_t*)> real_mutex_unlock;

int HookMutexLock(pthread_mutex_t* mutex) {
  return TryThenLock(
      kMutex, mutex, [=] { return real_mutex_trylock(mutex); }, [=] { return real_mutex_lock(mutex); });
}

int HookMutexTrylock(pthread_mutex_t* mutex) {
  return OnlyTry(kMutex, [=] { return real_mutex_trylock(mutex); });
}

int HookMutexTimedlock(pthread_mutex_t* mutex, const timespec* until) {
  return TryThenLock(
      kMutex, mutex, [=] { return real_mutex_trylock(mutex); },
      [=] { return real_mutex_timedlock(mutex, until); });
}

int HookMutexClocklock(pthread_mutex_t* mutex, clockid_t clock, const timespec* until) {
  // Other clocks are refused even where the mutex is free.
  if (clock != CLOCK_REALTIME && clock != CLOCK_MONOTONIC) return real_mutex_clocklock(mutex, clock, until);
  return TryThenLock(
      kMutex, mutex, [=] { return real_mutex_trylock(mutex); },
      [=] { return real_mutex_clocklock(mutex, clock, until); });
}

int HookMutexUnlock(pthread_mutex_t* mutex) {
  return ReleaseAndLook(kMutex, mutex, [=] { return real_mutex_unlock(mutex); });
}

// Read-write locks.

constexpr CallKind kRwLock = CallKind::kRwLock;

using LockReal = RealFunction<int(pthread_rwlock_t*)>;
using TimedLockReal = RealFunction<int(pthread_rwlock_t*, const timespec*)>;
constinit LockReal real_rdlock;
constinit LockReal real_tryrdlock;
constinit TimedLockReal real_timedrdlock;
constinit LockReal real_wrlock;
constinit LockReal real_trywrlock;
constinit TimedLockReal real_timedwrlock;
constinit LockReal real_rwlock_unlock;

int HookRdlock(pthread_rwlock_t* lock) {
  return TryThenLock(
      kRwLock, lock, [=] { return real_tryrdlock(lock); }, [=] { return real_rdlock(lock); });
}

int HookTryrdlock(pthread_rwlock_t* lock) {
  return OnlyTry(kRwLock, [=] { return real_tryrdlock(lock); });
}

int HookWrlock(pthread_rwlock_t* lock) {
  return TryThenLock(
      kRwLock, lock, [=] { return real_trywrlock(lock); }, [=] { return real_wrlock(lock); });
}

int HookTrywrlock(pthread_rwlock_t* lock) {
  return OnlyTry(kRwLock, [=] { return real_trywrlock(lock); });
}

// An invalid time is refused even if the lock is free.
bool IsTime(const timespec* until) { return until->tv_nsec >= 0 && until->tv_nsec < 1'000'000'000; }

int HookTimedrdlock(pthread_rwlock_t* lock, const timespec* until) {
  if (!IsTime(until)) return real_timedrdlock(lock, until);
  return TryThenLock(
      kRwLock, lock, [=] { return real_tryrdlock(lock); }, [=] { return real_timedrdlock(lock, until); });
}

int HookTimedwrlock(pthread_rwlock_t* lock, const timespec* until) {
  if (!IsTime(until)) return real_timedwrlock(lock, until);
  return TryThenLock(
      kRwLock, lock, [=] { return real_trywrlock(lock); }, [=] { return real_timedwrlock(lock, until); });
}

int HookRwlockUnlock(pthread_rwlock_t* lock) {
  return ReleaseAndLook(kRwLock, lock, [=] { return real_rwlock_unlock(lock); });
}

// Condition variables.

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

// Semaphores.

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
  base::TestCancellation();  // as the wait does, which to try does not
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

// Joins and barriers.

constinit RealFunction<int(pthread_t, void**)> real_join;
constinit RealFunction<int(pthread_barrier_t*)> real_barrier_wait;

int HookJoin(pthread_t thread, void** result) {
  if (!IsRecording()) return real_join(thread, result);
  const auto object = static_cast<uint64_t>(thread);
  const uint64_t begin_ticks = base::ReadTicks();
  int error;
  {
    ScopedWaiter waiter(CallersRegisters(), object);
    error = real_join(thread, result);
  }
  CaptureAfter(CallersRegisters(), CallKind::kJoin, object, begin_ticks);
  return error;
}

int HookBarrierWait(pthread_barrier_t* barrier) {
  if (!IsRecording()) return real_barrier_wait(barrier);
  const uint64_t begin_ticks = base::ReadTicks();
  const int result = real_barrier_wait(barrier);
  // The C library identifies so the thread that came last, and woke the others.
  if (result == PTHREAD_BARRIER_SERIAL_THREAD) {
    CaptureWake(CallersRegisters(), CallKind::kBarrier, ObjectOf(barrier), begin_ticks);
  } else {
    CaptureAfter(CallersRegisters(), CallKind::kBarrier, ObjectOf(barrier), begin_ticks);
  }
  return result;
}

}  // namespace

void AddLockHooks(HookTable* table) {
  table->Add(kLockHooks, "pthread_mutex_lock", HookMutexLock, &real_mutex_lock);
  table->Add(kLockHooks, "pthread_mutex_trylock", HookMutexTrylock, &real_mutex_trylock);
  table->Add(kLockHooks, "pthread_mutex_timedlock", HookMutexTimedlock, &real_mutex_timedlock);
  table->Add(kLockHooks, "pthread_mutex_clocklock", HookMutexClocklock, &real_mutex_clocklock);
  table->Add(kLockHooks, "pthread_mutex_unlock", HookMutexUnlock, &real_mutex_unlock);
  table->Add(kLockHooks, "pthread_rwlock_rdlock", HookRdlock, &real_rdlock);
  table->Add(kLockHooks, "pthread_rwlock_tryrdlock", HookTryrdlock, &real_tryrdlock);
  table->Add(kLockHooks, "pthread_rwlock_timedrdlock", HookTimedrdlock, &real_timedrdlock);
  table->Add(kLockHooks, "pthread_rwlock_wrlock", HookWrlock, &real_wrlock);
  table->Add(kLockHooks, "pthread_rwlock_trywrlock", HookTrywrlock, &real_trywrlock);
  table->Add(kLockHooks, "pthread_rwlock_timedwrlock", HookTimedwrlock, &real_timedwrlock);
  table->Add(kLockHooks, "pthread_rwlock_unlock", HookRwlockUnlock, &real_rwlock_unlock);
  table->Add(kLockHooks, "pthread_cond_wait", HookCondWait, &real_cond_wait);
  table->Add(kLockHooks, "pthread_cond_timedwait", HookCondTimedwait, &real_cond_timedwait);
  table->Add(kLockHooks, "pthread_cond_clockwait", HookCondClockwait, &real_cond_clockwait);
  table->Add(kLockHooks, "pthread_cond_signal", HookCondSignal, &real_cond_signal);
  table->Add(kLockHooks, "pthread_cond_broadcast", HookCondBroadcast, &real_cond_broadcast);
  table->Add(kLockHooks, "sem_wait", HookSemWait, &real_sem_wait);
  table->Add(kLockHooks, "sem_trywait", HookSemTrywait, &real_sem_trywait);
  table->Add(kLockHooks, "sem_timedwait", HookSemTimedwait, &real_sem_timedwait);
  table->Add(kLockHooks, "sem_clockwait", HookSemClockwait, &real_sem_clockwait);
  table->Add(kLockHooks, "sem_post", HookSemPost, &real_sem_post);
  table->Add(kLockHooks, "pthread_join", HookJoin, &real_join);
  table->Add(kLockHooks, "pthread_barrier_wait", HookBarrierWait, &real_barrier_wait);
}

}  // namespace lagwatch::trace
