// SPDX-License-Identifier: Apache-2.0
#include <mach/mach.h>

#include <algorithm>

#include "base/clock.h"
#include "base/process/sleeper.h"

namespace lagwatch::base {

Sleeper::~Sleeper() {
  if (const semaphore_t semaphore = semaphore_.load(); semaphore != 0)
    semaphore_destroy(mach_task_self(), semaphore);
}

void Sleeper::Wait(int64_t mono_ns) {
  constexpr int64_t kLongestNs = 3600 * kNsPerSecond;
  // A wake that found no semaphore was not kept in it.
  constexpr int64_t kFirstNs = kNsPerMs;
  int64_t timeout_ns = shared_word_ != nullptr ? kSharedPollNs : kLongestNs;
  semaphore_t semaphore = semaphore_.load();
  if (semaphore == 0) {
    if (semaphore_create(mach_task_self(), &semaphore, SYNC_POLICY_FIFO, 0) != KERN_SUCCESS) semaphore = 0;
    semaphore_.store(semaphore);
    timeout_ns = kFirstNs;
  }
  timeout_ns = std::clamp<int64_t>(mono_ns - SystemClock().MonoNs(), 0, timeout_ns);
  const mach_timespec_t timeout{static_cast<unsigned>(timeout_ns / kNsPerSecond),
                                static_cast<clock_res_t>(timeout_ns % kNsPerSecond)};
  const kern_return_t result = semaphore_timedwait(semaphore, timeout);
  // A forked child has none of its parent's semaphores.
  if (result == KERN_INVALID_ARGUMENT || result == KERN_TERMINATED) semaphore_.store(0);
}

void Sleeper::Wake() {
  // Read first: the sleeper may be gone once it is woken.
  const semaphore_t semaphore = semaphore_.load();
  woken_.store(1);
  if (semaphore != 0) semaphore_signal(semaphore);
}

}  // namespace lagwatch::base
