// SPDX-License-Identifier: Apache-2.0
#include <linux/futex.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <string_view>

#include "base/clock.h"
#include "base/process/proc_file.h"
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

// The time at which it was last seen running, in the clock of the scheduler; -1 if the kernel does not say.
// Some kernels forget it when they move a thread to another processor.
int64_t LastRunNs(const base::Thread& thread) {
  char buffer[1024];
  const std::string_view text =
      base::ReadSmallFile(base::TaskPath(thread, "sched").c_str(), buffer, sizeof buffer);
  constexpr std::string_view kKey = "se.exec_start";
  const size_t key = text.find(kKey);
  if (key == std::string_view::npos) return -1;
  std::string_view rest = text.substr(key + kKey.size());
  rest.remove_prefix(std::min(rest.size(), rest.find_first_of("0123456789")));
  uint64_t ms = 0;
  return base::ConsumeDecimal(&rest, &ms) && ms != 0 ? static_cast<int64_t>(ms) * base::kNsPerMs : -1;
}

// The processor that it has run on last; -1 if it is not known.
int ProcessorOf(const base::Thread& thread) {
  constexpr int kProcessorField = 36;  // of proc_pid_stat(5), counted from the one after the thread's name
  char buffer[1024];
  std::string_view stat = base::ReadSmallFile(base::TaskPath(thread, "stat").c_str(), buffer, sizeof buffer);
  stat.remove_prefix(std::min(stat.size(), stat.rfind(") ") + 2));
  for (int i = 0; i < kProcessorField; ++i) stat.remove_prefix(std::min(stat.size(), stat.find(' ') + 1));
  uint64_t processor = 0;
  return base::ConsumeDecimal(&stat, &processor) ? static_cast<int>(processor) : -1;
}

// The scheduler's clock of that processor; -1 if this thread may not run there. Those of two processors
// differ by seconds.
int64_t ClockOf(int processor) {
  cpu_set_t before;
  cpu_set_t one;
  CPU_ZERO(&one);
  if (processor < 0 || processor >= CPU_SETSIZE || sched_getaffinity(0, sizeof before, &before) != 0)
    return -1;
  CPU_SET(processor, &one);
  if (sched_setaffinity(0, sizeof one, &one) != 0) return -1;
  const int64_t clock_ns = LastRunNs({base::Process::Other(getpid()), gettid()});
  sched_setaffinity(0, sizeof before, &before);
  return clock_ns;
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

int64_t ProcessorClocks::AsleepSinceNs(const base::Thread& thread) {
  const int64_t now_ns = base::SystemClock().MonoNs();
  const int64_t ran_ns = LastRunNs(thread);
  const int64_t clock_ns = ClockAt(ProcessorOf(thread), now_ns);
  return ran_ns < 0 || clock_ns < ran_ns ? now_ns : now_ns - (clock_ns - ran_ns);
}

int64_t ProcessorClocks::ClockAt(int processor, int64_t now_ns) {
  const auto known = ahead_ns_.find(processor);
  if (known != ahead_ns_.end()) return now_ns + known->second;
  const int64_t clock_ns = ClockOf(processor);
  if (clock_ns >= 0) ahead_ns_[processor] = clock_ns - base::SystemClock().MonoNs();
  return clock_ns;
}

}  // namespace lagwatch::sdk
