// SPDX-License-Identifier: Apache-2.0
#include <pthread.h>

#include <ctime>

#include "trace/hooks/calls/lock_wait.h"
#include "trace/hooks/hook_table.h"

namespace lagwatch::trace {
namespace {

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

}  // namespace

void AddMutexHooks(HookTable* table) {
  table->Add(kLockHooks, "pthread_mutex_lock", HookMutexLock, &real_mutex_lock);
  table->Add(kLockHooks, "pthread_mutex_trylock", HookMutexTrylock, &real_mutex_trylock);
  table->Add(kLockHooks, "pthread_mutex_timedlock", HookMutexTimedlock, &real_mutex_timedlock);
  table->Add(kLockHooks, "pthread_mutex_clocklock", HookMutexClocklock, &real_mutex_clocklock);
  table->Add(kLockHooks, "pthread_mutex_unlock", HookMutexUnlock, &real_mutex_unlock);
}

}  // namespace lagwatch::trace
