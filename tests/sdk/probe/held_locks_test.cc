// SPDX-License-Identifier: Apache-2.0
#include "sdk/probe/held_locks.h"

#include <gtest/gtest.h>

#include <mutex>
#include <thread>
#include <vector>

namespace lagwatch::sdk {
namespace {

TEST(HeldLocks, ReturnTheTimeSinceTheLockWasTaken) {
  HeldLocks locks;
  HeldLocks::Held held;
  EXPECT_FALSE(locks.LetGo(0x1000, &held));
  locks.Take(0x1000, {.since_ticks = 5, .waited_ticks = 2});
  ASSERT_TRUE(locks.LetGo(0x1000, &held));
  EXPECT_EQ(held.since_ticks, 5U);
  EXPECT_EQ(held.waited_ticks, 2U);
  EXPECT_FALSE(locks.LetGo(0x1000, &held));
}

TEST(HeldLocks, EndWithTheOutermostOfNestedOnes) {
  HeldLocks locks;
  HeldLocks::Held held;
  locks.Take(0x1000, {.since_ticks = 5, .waited_ticks = 0});
  locks.Take(0x1000, {.since_ticks = 9, .waited_ticks = 0});
  EXPECT_FALSE(locks.LetGo(0x1000, &held));
  ASSERT_TRUE(locks.LetGo(0x1000, &held));
  EXPECT_EQ(held.since_ticks, 5U);
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
        locks.Take(lock, {.since_ticks = lock, .waited_ticks = i});
        if (locks.LetGo(lock, &held) && (held.since_ticks != lock || held.waited_ticks != i)) ++wrong;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong.load(), 0);
}

}  // namespace
}  // namespace lagwatch::sdk
