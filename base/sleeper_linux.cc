// SPDX-License-Identifier: Apache-2.0
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <ctime>

#include "base/clock.h"
#include "base/sleeper.h"

namespace lagwatch::base {

void Sleeper::SleepUntil(int64_t mono_ns) {
  timespec deadline{.tv_sec = mono_ns / kNsPerSecond, .tv_nsec = mono_ns % kNsPerSecond};
  while (woken_.exchange(0) == 0) {
    if (SystemClock().MonoNs() >= mono_ns) return;
    const timespec* timeout = mono_ns == kForever ? nullptr : &deadline;
    syscall(SYS_futex, &woken_, FUTEX_WAIT_BITSET_PRIVATE, 0, timeout, nullptr, FUTEX_BITSET_MATCH_ANY);
  }
}

void Sleeper::Wake() {
  woken_.store(1);
  syscall(SYS_futex, &woken_, FUTEX_WAKE_PRIVATE, 1, nullptr, nullptr, 0);
}

}  // namespace lagwatch::base
