// SPDX-License-Identifier: Apache-2.0
#include "policies/busy_loop.h"

#include <gtest/gtest.h>

#include "tests/policies/milliseconds.h"

namespace lagwatch::policies {
namespace {

constexpr int64_t kThresholdNs = 1000 * kMs;

// A loop's thread, looked at every 100 ms.
class BusyLoopTest : public ::testing::Test {
 protected:
  void Look() {
    if (busy_.IsWorthReading(now_.now_ns, now_.dispatches, kThresholdNs)) busy_.Observe(now_, kThresholdNs);
  }
  // Goes on for 100 ms and looks.
  void Run(uint64_t dispatches, int64_t sleeps = 0, int64_t runnable_ns = 100 * kMs) {
    now_.now_ns += 100 * kMs;
    now_.dispatches += dispatches;
    now_.voluntary_switches += sleeps;
    now_.runnable_ns += runnable_ns;
    Look();
  }
  int64_t AgeMs() const { return busy_.number() == 0 ? 0 : (now_.now_ns - busy_.begin_ns()) / kMs; }

  LoopActivity now_{.now_ns = 5000 * kMs, .dispatches = 7, .runnable_ns = 3, .voluntary_switches = 50};
  BusyLoop busy_;
};

TEST_F(BusyLoopTest, GoesOnWhileShortDispatchesFollowEachOther) {
  Look();
  for (int i = 0; i < 30; ++i) Run(5);
  EXPECT_EQ(AgeMs(), 2900);
  EXPECT_EQ(busy_.dispatches(), 5u * 29);
}

TEST_F(BusyLoopTest, EndsWithOneSleep) {
  for (int i = 0; i < 9; ++i) Run(5);
  uint64_t number = busy_.number();
  Run(5, 1, 95 * kMs);
  EXPECT_NE(busy_.number(), number);
  EXPECT_EQ(AgeMs(), 0);
  for (int i = 0; i < 3; ++i) Run(5);
  EXPECT_EQ(AgeMs(), 300);
}

TEST_F(BusyLoopTest, GoesOnOverWaitsThatTakeNoTime) {
  Look();
  for (int i = 0; i < 9; ++i) Run(5, 1, 100 * kMs - 400'000);
  EXPECT_EQ(AgeMs(), 800);
}

TEST_F(BusyLoopTest, EndsWithOneSleepHoweverLongItWasBusy) {
  for (int i = 0; i < 200; ++i) Run(5);
  Run(5, 1, 94 * kMs);
  EXPECT_EQ(AgeMs(), 0);
}

TEST_F(BusyLoopTest, EndsWithTimeThatIsNotAccountedFor) {
  for (int i = 0; i < 9; ++i) Run(5);
  Run(5, 0, 10 * kMs);
  EXPECT_EQ(AgeMs(), 0);
}

TEST_F(BusyLoopTest, IsNoLongDispatch) {
  for (int i = 0; i < 3; ++i) Run(5);
  EXPECT_GT(AgeMs(), 0);
  for (int i = 0; i < 10; ++i) Run(0);
  EXPECT_EQ(busy_.number(), 0u);
}

TEST_F(BusyLoopTest, IsNoneWithALongDispatchAmongShortOnes) {
  for (int round = 0; round < 5; ++round) {
    for (int i = 0; i < 2; ++i) Run(50);
    for (int i = 0; i < 4; ++i) Run(0);
    EXPECT_LT(AgeMs(), 1000);
  }
}

TEST_F(BusyLoopTest, IsNoneWithAFewRatherLongDispatches) {
  Run(50);
  for (int i = 0; i < 30; ++i) {
    Run(i % 2);
    EXPECT_LT(AgeMs(), 1000);
  }
}

TEST_F(BusyLoopTest, DoesNotReadTheActivityOfAnIdleLoop) {
  Look();
  for (int i = 0; i < 5; ++i) {
    now_.now_ns += 100 * kMs;
    EXPECT_FALSE(busy_.IsWorthReading(now_.now_ns, now_.dispatches, kThresholdNs));
  }
}

}  // namespace
}  // namespace lagwatch::policies
