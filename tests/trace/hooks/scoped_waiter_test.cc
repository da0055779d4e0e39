// SPDX-License-Identifier: Apache-2.0
// Waits that are left without a return.
#include <gtest/gtest.h>

#include <csetjmp>

#include "trace/hooks/capture.h"

namespace lagwatch::trace {
namespace {

jmp_buf g_outside;

[[gnu::noinline]] void LeaveWait(uint64_t object) {
  const ScopedWaiter waiter(CallersRegisters(), object);
  EXPECT_TRUE(g_waiters.HasWaiter(object));
  longjmp(g_outside, 1);  // as a signal handler's
}

[[gnu::noinline]] bool IsThereInWait(uint64_t object, uint64_t left_object) {
  const ScopedWaiter waiter(CallersRegisters(), object);
  const bool is_there = g_waiters.HasWaiter(left_object);
  asm volatile("");
  return is_there;
}

[[gnu::noinline]] bool IsThereFurtherIn(uint64_t object, uint64_t left_object) {
  volatile char room[4096];
  room[0] = 1;
  const bool is_there = IsThereInWait(object, left_object);
  return is_there && room[0] == 1;
}

[[gnu::noinline]] bool IsThereBeside(uint64_t object, uint64_t inner_object) {
  const ScopedWaiter waiter(CallersRegisters(), object);
  const bool is_inner_there = IsThereInWait(inner_object, object);  // as a signal handler's
  return is_inner_there && g_waiters.HasWaiter(object) && !g_waiters.HasWaiter(inner_object);
}

TEST(ScopedWaiter, AWaitThatWasLeftIsTakenBackByTheNext) {
#if defined(__x86_64__)
  constexpr uint64_t kLeft = 0x1000;
  constexpr uint64_t kNext = 0x2000;
  if (setjmp(g_outside) == 0) LeaveWait(kLeft);
  EXPECT_TRUE(g_waiters.HasWaiter(kLeft));
  EXPECT_FALSE(IsThereFurtherIn(kNext, kLeft));
  EXPECT_FALSE(g_waiters.HasWaiter(kLeft));
  EXPECT_FALSE(g_waiters.HasWaiter(kNext));
#endif
}

TEST(ScopedWaiter, AnInterruptedWaitStays) {
  constexpr uint64_t kOuter = 0x3000;
  constexpr uint64_t kInner = 0x4000;
  EXPECT_TRUE(IsThereBeside(kOuter, kInner));
  EXPECT_FALSE(g_waiters.HasWaiter(kOuter));
}

}  // namespace
}  // namespace lagwatch::trace
