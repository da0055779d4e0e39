// SPDX-License-Identifier: Apache-2.0
// Hooks of lock calls. A lock is tried first: a thread waits only if the lock is taken, and is captured when
// it has the lock. Context: hot, signal.
#pragma once

#include <cerrno>
#include <cstdint>

#include "trace/hooks/capture.h"

namespace lagwatch::trace {

inline uint64_t ObjectOf(const void* object) { return reinterpret_cast<uint64_t>(object); }

// The lock was found taken. `try_lock` and `lock` return 0 or an error as the C library has them.
template <typename TryLock, typename Lock>
int WaitForLock(const CallRegisters& from, CallKind call, uint64_t object, TryLock try_lock, Lock lock) {
  const uint64_t begin_ticks = base::ReadTicks();
  int error;
  {
    ScopedWaiter waiter(from, object);
    // An owner may have released it before the wait was registered; from here on every owner sees it.
    error = try_lock();
    if (error != EBUSY) return error;
    error = lock();
  }
  if (error == 0 || error == EOWNERDEAD || error == ETIMEDOUT)
    Capture(from, {RunKind::kWaited, call, object, begin_ticks, base::ReadTicks()});
  return error;
}

template <typename TryLock, typename Lock>
[[gnu::always_inline]] inline int TryThenLock(CallKind call, const void* object, TryLock try_lock,
                                              Lock lock) {
  if (!IsRecording()) return lock();
  const int error = try_lock();
  if (error != EBUSY) [[likely]]
    return error;
  return WaitForLock(CallersRegisters(), call, ObjectOf(object), try_lock, lock);
}

template <typename TryLock>
[[gnu::always_inline]] inline int OnlyTry(CallKind call, TryLock try_lock) {
  const int error = try_lock();
  if (error == EBUSY) CaptureOften(call);  // perhaps it goes on trying for long
  return error;
}

template <typename Release>
[[gnu::always_inline]] inline int ReleaseAndLook(CallKind call, const void* object, Release release,
                                                 bool is_for_all = false) {
  if (!IsRecording()) return release();
  const ReleaseWatch watch(ObjectOf(object));
  const int error = release();
  if (error == 0) watch.CaptureAfter(CallersRegisters(), call, is_for_all);
  return error;
}

}  // namespace lagwatch::trace
