// SPDX-License-Identifier: Apache-2.0
#include <pthread.h>

#include <ctime>

#include "trace/hooks/calls/lock_wait.h"
#include "trace/hooks/hook_table.h"

namespace lagwatch::trace {
namespace {

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

}  // namespace

void AddReadWriteLockHooks(HookTable* table) {
  table->Add(kLockHooks, "pthread_rwlock_rdlock", HookRdlock, &real_rdlock);
  table->Add(kLockHooks, "pthread_rwlock_tryrdlock", HookTryrdlock, &real_tryrdlock);
  table->Add(kLockHooks, "pthread_rwlock_timedrdlock", HookTimedrdlock, &real_timedrdlock);
  table->Add(kLockHooks, "pthread_rwlock_wrlock", HookWrlock, &real_wrlock);
  table->Add(kLockHooks, "pthread_rwlock_trywrlock", HookTrywrlock, &real_trywrlock);
  table->Add(kLockHooks, "pthread_rwlock_timedwrlock", HookTimedwrlock, &real_timedwrlock);
  table->Add(kLockHooks, "pthread_rwlock_unlock", HookRwlockUnlock, &real_rwlock_unlock);
}

}  // namespace lagwatch::trace
