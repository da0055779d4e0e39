// SPDX-License-Identifier: Apache-2.0
#include "base/ticks.h"

#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>
#include <thread>

#include "base/clock.h"

namespace lagwatch::base {
namespace {

TickPair ReadBothAfter(std::chrono::milliseconds pause) {
  std::this_thread::sleep_for(pause);
  return ReadTickPair(SystemClock());
}

TEST(ReadTicks, RunsForwardAndOn) {
  uint64_t before = ReadTicks();
  std::this_thread::sleep_for(std::chrono::milliseconds(1));
  EXPECT_GT(ReadTicks(), before);
}

TEST(TickScale, AgreesWithTheClockToAPercent) {
  using std::chrono::milliseconds;
  TickScale scale;
  TickPair anchor = ReadTickPair(SystemClock());
  scale.Anchor(anchor);
  TickPair first = ReadBothAfter(milliseconds(50));
  scale.Update(first);
  TickPair second = ReadBothAfter(milliseconds(50));

  int64_t clock_ns = second.mono_ns - first.mono_ns;
  int64_t scaled_ns = scale.ToNs(second.ticks - first.ticks);
  EXPECT_LT(std::abs(scaled_ns - clock_ns), clock_ns / 100);
}

TEST(TickScale, IsUnknownUntilItsFirstUpdate) {
  TickScale scale;
  EXPECT_FALSE(scale.is_known());
  scale.Anchor({1'000, 5'000});
  EXPECT_FALSE(scale.is_known());
  scale.Update({3'000, 6'000});
  EXPECT_TRUE(scale.is_known());
  EXPECT_EQ(scale.ToNs(10), 5);
  EXPECT_EQ(scale.ToTicks(10), 20u);
}

TEST(TickScale, IgnoresReadingsThatAreNotLaterThanItsAnchor) {
  TickScale scale;
  scale.Anchor({1'000, 5'000});
  scale.Update({1'000, 6'000});
  scale.Update({2'000, 5'000});
  scale.Update({500, 9'000});
  EXPECT_FALSE(scale.is_known());
}

TEST(TickScale, LeavesOutAnIntervalInWhichTheMachineSlept) {
  constexpr int64_t kSecond = 1'000'000'000;
  TickScale scale;
  scale.Anchor({0, 0});
  scale.Update({2'000'000'000, kSecond});  // two ticks a nanosecond
  EXPECT_EQ(scale.ToNs(7'000), 3'500);
  scale.Update({60'000'000'000, 2 * kSecond});  // 28 s of sleep, which the clock does not count
  EXPECT_EQ(scale.ToNs(7'000), 3'500);
  scale.Update({62'000'000'000, 3 * kSecond});
  EXPECT_EQ(scale.ToNs(7'000), 3'500);
  scale.Update({1'000, 4 * kSecond});  // the counter was reset
  scale.Update({2'000'001'000, 5 * kSecond});
  EXPECT_EQ(scale.ToNs(7'000), 3'500);
}

TEST(TickScale, FollowsASlowDrift) {
  constexpr int64_t kSecond = 1'000'000'000;
  TickScale scale;
  scale.Anchor({0, 0});
  TickPair now{0, 0};
  for (int i = 0; i < 100; ++i) {
    now = {now.ticks + 1'010'000'000, now.mono_ns + kSecond};
    scale.Update(now);
  }
  EXPECT_EQ(scale.ToNs(1'010), 1'000);
}

}  // namespace
}  // namespace lagwatch::base
