// SPDX-License-Identifier: Apache-2.0
#include "policies/time_discount.h"

#include <gtest/gtest.h>

#include "tests/policies/milliseconds.h"

namespace lagwatch::policies {
namespace {

class TimeDiscountTest : public ::testing::Test {
 protected:
  TimeDiscountTest() {
    time_discount_.Update(
        {.mono_ns = 1000 * kMs, .boot_ns = 5000 * kMs, .cpu_ns = 300 * kMs, .run_delay_ns = 70 * kMs});
  }

  struct Interval {
    int64_t wall_ns = 0;
    int64_t cpu_ns = 0;
    int64_t delay_ns = 0;
    int64_t suspended_ns = 0;
  };
  DiscountedTime After(const Interval& interval, int64_t waited_ns) {
    return time_discount_.Update({.mono_ns = 1000 * kMs + interval.wall_ns,
                                  .boot_ns = 5000 * kMs + interval.wall_ns + interval.suspended_ns,
                                  .cpu_ns = 300 * kMs + interval.cpu_ns,
                                  .run_delay_ns = 70 * kMs + interval.delay_ns,
                                  .waited_ns = waited_ns});
  }

  TimeDiscount time_discount_;
};

TEST_F(TimeDiscountTest, FindsNothingInAPunctualWake) {
  EXPECT_TRUE(After({.wall_ns = 1003 * kMs, .cpu_ns = 1 * kMs, .delay_ns = 1 * kMs}, 1000 * kMs).is_clean());
}

TEST_F(TimeDiscountTest, TimeThatNobodyWantedOrUsedWasAStop) {
  EXPECT_EQ(After({.wall_ns = 1900 * kMs, .delay_ns = 10 * kMs}, 1000 * kMs),
            (DiscountedTime{.stopped_ns = 890 * kMs}));
}

TEST_F(TimeDiscountTest, AStopIsSeenInTheMidstOfWork) {
  EXPECT_EQ(After({.wall_ns = 900 * kMs, .cpu_ns = 100 * kMs}, 0), (DiscountedTime{.stopped_ns = 800 * kMs}));
}

TEST_F(TimeDiscountTest, WorkIsNoStop) {
  EXPECT_TRUE(After({.wall_ns = 900 * kMs, .cpu_ns = 899 * kMs}, 0).is_clean());
}

TEST_F(TimeDiscountTest, ALateWakeInTheRunQueueWasNoStop) {
  EXPECT_EQ(After({.wall_ns = 1900 * kMs, .delay_ns = 885 * kMs}, 1000 * kMs),
            (DiscountedTime{.late_ns = 885 * kMs}));
}

TEST_F(TimeDiscountTest, AWaitOfAnyLengthIsNoStop) {
  EXPECT_TRUE(After({.wall_ns = 60'000 * kMs}, 60'000 * kMs).is_clean());
}

TEST_F(TimeDiscountTest, TheMachinesSleepIsTheDifferenceOfTheClocks) {
  EXPECT_EQ(After({.wall_ns = 1000 * kMs, .suspended_ns = 3600'000 * kMs}, 1000 * kMs),
            (DiscountedTime{.suspended_ns = 3600'000 * kMs}));
}

// Between the readings of a busy machine's clocks a thread may wait for a processor.
TEST_F(TimeDiscountTest, AReadingThatTookLongInventsNothing) {
  time_discount_.Update({.mono_ns = 2000 * kMs,
                         .read_ns = 300 * kMs,
                         .boot_ns = 6300 * kMs,  // 300 ms later than `mono_ns`
                         .cpu_ns = 301 * kMs,
                         .run_delay_ns = 71 * kMs,  // before these were waited
                         .waited_ns = 998 * kMs});
  EXPECT_EQ(time_discount_
                .Update({.mono_ns = 2400 * kMs,
                         .boot_ns = 6400 * kMs,
                         .cpu_ns = 302 * kMs,
                         .run_delay_ns = 371 * kMs,
                         .waited_ns = 99 * kMs})
                .stopped_ns,
            0);
  DiscountedTime sum;
  for (int64_t i = 1; i <= 3; ++i) {  // the delay was over before the reading
    const int64_t mono_ns = (2400 + i * 1000) * kMs;
    sum += time_discount_.Update({.mono_ns = mono_ns,
                                  .read_ns = 300 * kMs,
                                  .boot_ns = mono_ns + 4300 * kMs,
                                  .cpu_ns = 302 * kMs,
                                  .run_delay_ns = (371 + i * 300) * kMs,
                                  .waited_ns = 700 * kMs});
  }
  EXPECT_EQ(sum.stopped_ns, 0);
  EXPECT_EQ(sum.suspended_ns, 0);
}

TEST_F(TimeDiscountTest, AStopIsSeenBesideAReadingThatTookLong) {
  EXPECT_EQ(time_discount_
                .Update({.mono_ns = 3000 * kMs,
                         .read_ns = 100 * kMs,
                         .boot_ns = 7100 * kMs,
                         .cpu_ns = 300 * kMs,
                         .run_delay_ns = 170 * kMs,
                         .waited_ns = 500 * kMs})
                .stopped_ns,
            1400 * kMs);
}

TEST(TimeDiscount, WithoutTheKernelsRecordNothingIsTakenOff) {
  TimeDiscount time_discount;
  time_discount.Update({.mono_ns = 1000 * kMs, .run_delay_ns = -1});
  EXPECT_TRUE(
      time_discount.Update({.mono_ns = 9000 * kMs, .boot_ns = 8000 * kMs, .run_delay_ns = -1}).is_clean());
}

TEST(TimeDiscount, TheFirstReadingFindsNothing) {
  TimeDiscount time_discount;
  EXPECT_TRUE(time_discount.Update({.mono_ns = 1000 * kMs}).is_clean());
}

TEST(DiscountedTime, AddUp) {
  DiscountedTime sum{.suspended_ns = 1, .stopped_ns = 2, .late_ns = 3, .debugger_pid = 4, .blocked_ns = 5};
  sum += {.suspended_ns = 10, .stopped_ns = 20, .late_ns = 30, .blocked_ns = 50};
  EXPECT_EQ(sum, (DiscountedTime{11, 22, 33, 4, 55}));
}

TEST(CanHaveBeenStopped, OnlyWithTheCpuTimeOfTheRestOfTheInterval) {
  EXPECT_TRUE(CanHaveBeenStopped(900 * kMs, 1000 * kMs, 100 * kMs, 1));
  EXPECT_FALSE(CanHaveBeenStopped(900 * kMs, 1000 * kMs, 950 * kMs, 1));
  EXPECT_FALSE(CanHaveBeenStopped(900 * kMs, 1000 * kMs, 300 * kMs, 1)) << "a busy machine";
  EXPECT_TRUE(CanHaveBeenStopped(900 * kMs, 1000 * kMs, 300 * kMs, 4)) << "four threads ran before";
  EXPECT_TRUE(CanHaveBeenStopped(900 * kMs, 900 * kMs, 0, 8));
}

}  // namespace
}  // namespace lagwatch::policies
