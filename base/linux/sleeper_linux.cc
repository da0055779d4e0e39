// SPDX-License-Identifier: Apache-2.0
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <ctime>

#include "base/clock.h"
#include "base/process/sleeper.h"
#include "base/system/process.h"

namespace lagwatch::base {
namespace {

timespec ToTimespec(int64_t ns) { return {.tv_sec = ns / kNsPerSecond, .tv_nsec = ns % kNsPerSecond}; }

#ifdef SYS_futex_waitv
// False when the system cannot do that.
bool WaitForTwo(const void* own_word, const uint32_t* shared_word, uint32_t shared_value,
                const timespec* deadline) {
  futex_waitv words[2] = {};
  words[0].uaddr = reinterpret_cast<uintptr_t>(own_word);
  words[0].flags = FUTEX_32 | FUTEX_PRIVATE_FLAG;
  words[1].uaddr = reinterpret_cast<uintptr_t>(shared_word);
  words[1].val = shared_value;
  words[1].flags = FUTEX_32;
  if (syscall(SYS_futex_waitv, words, 2, 0, deadline, CLOCK_MONOTONIC) >= 0) return true;
  return errno == EAGAIN || errno == EINTR || errno == ETIMEDOUT;
}
#else
bool WaitForTwo(const void*, const uint32_t*, uint32_t, const timespec*) { return false; }
#endif

}  // namespace

Sleeper::~Sleeper() = default;

void Sleeper::Wait(int64_t mono_ns) {
  timespec deadline = ToTimespec(mono_ns);
  const timespec* timeout = mono_ns == kForever ? nullptr : &deadline;
  if (shared_word_ != nullptr && can_wait_for_two_) {
    can_wait_for_two_ = kCanTryNewCalls && WaitForTwo(&woken_, shared_word_, seen_value_, timeout);
    if (can_wait_for_two_) return;
  }
  if (shared_word_ != nullptr) {
    deadline = ToTimespec(std::min(mono_ns, SystemClock().MonoNs() + kSharedPollNs));
    timeout = &deadline;
  }
  syscall(SYS_futex, &woken_, FUTEX_WAIT_BITSET_PRIVATE, 0, timeout, nullptr, FUTEX_BITSET_MATCH_ANY);
}

void Sleeper::Wake() {
  woken_.store(1);
  syscall(SYS_futex, &woken_, FUTEX_WAKE_PRIVATE, 1, nullptr, nullptr, 0);
}

}  // namespace lagwatch::base
