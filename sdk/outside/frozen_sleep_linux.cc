// SPDX-License-Identifier: Apache-2.0
#include <linux/futex.h>

#include "base/system/system_calls.h"
#include "policies/verdict.h"
#include "sdk/outside/frozen_sleep.h"
#include "watchdog/evidence/evidence.h"

namespace lagwatch::sdk {
namespace {

// For a mutex of glibc's that another thread has, or the thread itself: its first word says that it is waited
// for, and its third one is the owner's id. Conditions of other libraries may sleep in the same call.
bool IsForOwnedMutex(const base::Process& process, const stack::BlockedThread& blocked) {
  constexpr uint32_t kLockedWithWaiters = 2;
  struct {
    uint32_t lock;
    uint32_t recursions;
    int32_t owner;
  } mutex{};
  const int command = blocked.FutexCommand();
  if (command != FUTEX_WAIT && command != FUTEX_LOCK_PI && command != FUTEX_LOCK_PI2) return false;
  if (!process.ReadValue(blocked.arguments[0], &mutex) || mutex.owner <= 0) return false;
  const bool is_taken = command == FUTEX_WAIT
                            ? mutex.lock == kLockedWithWaiters
                            : (mutex.lock & FUTEX_TID_MASK) == static_cast<uint32_t>(mutex.owner);
  return is_taken && stack::ReadThreadStateLetter({process, mutex.owner}) != '?';
}

}  // namespace

bool SleepsWhereNoneIdles(const base::Thread& thread, const stack::BlockedThread& blocked,
                          bool is_first_sleep) {
  // A batch program waits for its disk now and then.
  const char state = stack::ReadThreadStateLetter(thread);
  if (is_first_sleep && state == 'D') return true;
  if (blocked.FutexCommand() >= 0) return IsForOwnedMutex(thread.process, blocked);
  // Semaphores and several futexes at once are locks by their call, and what threads idle for.
  return !blocked.call().may_idle &&
         watchdog::WhatItWaitsFor(thread, blocked, state) == policies::Doing::kLock;
}

}  // namespace lagwatch::sdk
