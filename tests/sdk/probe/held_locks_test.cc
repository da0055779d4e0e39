// SPDX-License-Identifier: Apache-2.0
#include "sdk/probe/held_locks.h"

#include <gtest/gtest.h>

#include <mutex>
#include <thread>
#include <vector>

namespace lagwatch::sdk {
namespace {

constexpr uint32_t kOwner = 1;
constexpr uint32_t kOther = 2;

TEST(HeldLocks, ReturnTheTimeSinceTheLockWasTaken) {
  HeldLocks locks;
  HeldLocks::Held held;
  EXPECT_FALSE(locks.LetGo(0x1000, kOwner, &held));
  locks.Take(0x1000, kOwner, false, {.since_ticks = 5, .waited_ticks = 2});
  ASSERT_TRUE(locks.LetGo(0x1000, kOwner, &held));
  EXPECT_EQ(held.since_ticks, 5U);
  EXPECT_EQ(held.waited_ticks, 2U);
  EXPECT_FALSE(locks.LetGo(0x1000, kOwner, &held));
}

TEST(HeldLocks, EndWithTheOutermostOfNestedOnes) {
  HeldLocks locks;
  HeldLocks::Held held;
  locks.Take(0x1000, kOwner, true, {.since_ticks = 5, .waited_ticks = 0});
  locks.Take(0x1000, kOwner, true, {.since_ticks = 9, .waited_ticks = 0});
  EXPECT_FALSE(locks.LetGo(0x1000, kOwner, &held));
  ASSERT_TRUE(locks.LetGo(0x1000, kOwner, &held));
  EXPECT_EQ(held.since_ticks, 5U);
}

// An unlock that was not seen costs that time alone.
TEST(HeldLocks, BeginAnewForAnotherOwner) {
  HeldLocks locks;
  HeldLocks::Held held;
  locks.Take(0x1000, kOwner, true, {.since_ticks = 5, .waited_ticks = 0});
  locks.Take(0x1000, kOther, true, {.since_ticks = 9, .waited_ticks = 0});
  ASSERT_TRUE(locks.LetGo(0x1000, kOther, &held));
  EXPECT_EQ(held.since_ticks, 9U);
  locks.Take(0x1000, kOwner, false, {.since_ticks = 5, .waited_ticks = 0});
  locks.Take(0x1000, kOwner, false, {.since_ticks = 9, .waited_ticks = 0});  // it cannot have it twice
  ASSERT_TRUE(locks.LetGo(0x1000, kOwner, &held));
  EXPECT_EQ(held.since_ticks, 9U);
  locks.Take(0x1000, kOwner, true, {.since_ticks = 5, .waited_ticks = 0});
  EXPECT_FALSE(locks.LetGo(0x1000, kOther, &held));  // whose taking was not seen
  EXPECT_FALSE(locks.LetGo(0x1000, kOwner, &held));
}

TEST(HeldLocks, CountThoseForWhichThereIsNoRoom) {
  HeldLocks locks;
  constexpr uint64_t kLocks = 20'000;
  uint64_t kept = 0;
  for (uint64_t i = 1; i <= kLocks; ++i) locks.Take(i << 6, kOwner, false, {});
  HeldLocks::Held held;
  for (uint64_t i = 1; i <= kLocks; ++i) kept += locks.LetGo(i << 6, kOwner, &held) ? 1 : 0;
  EXPECT_GT(locks.left_out(), 0U);
  EXPECT_EQ(kept + locks.left_out(), kLocks);
}

TEST(HeldLocks, GiveTheirMemoryBack) {
  HeldLocks locks;
  HeldLocks::Held held;
  locks.Take(0x1000, kOwner, false, {.since_ticks = 5, .waited_ticks = 0});
  locks.Clear();
  EXPECT_FALSE(locks.LetGo(0x1000, kOwner, &held));
  locks.Take(0x1000, kOwner, false, {.since_ticks = 9, .waited_ticks = 0});
  EXPECT_TRUE(locks.LetGo(0x1000, kOwner, &held));
}

// Each thread finds its own locks again, in a table that is nearly full.
TEST(HeldLocks, KeepThreadsApart) {
  HeldLocks locks;
  std::vector<std::thread> threads;
  std::atomic<int> wrong{0};
  for (uint64_t thread = 1; thread <= 4; ++thread) {
    threads.emplace_back([&, thread] {
      for (uint64_t i = 0; i < 20'000; ++i) {
        const uint64_t lock = thread << 32 | (i % 500) << 6 | 8;
        HeldLocks::Held held;
        locks.Take(lock, static_cast<uint32_t>(thread), false, {.since_ticks = lock, .waited_ticks = i});
        if (locks.LetGo(lock, static_cast<uint32_t>(thread), &held) &&
            (held.since_ticks != lock || held.waited_ticks != i))
          ++wrong;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong.load(), 0);
}

}  // namespace
}  // namespace lagwatch::sdk
