// SPDX-License-Identifier: Apache-2.0
#include "policies/check_schedule.h"

#include <gtest/gtest.h>

#include "tests/policies/milliseconds.h"

namespace lagwatch::policies {
namespace {

TEST(CheckSchedule, TakesASampleForEachPlaceOfTheRing) {
  CheckSchedule schedule{.threshold_ns = 3'000 * kMs, .sample_interval_ns = 50 * kMs, .ring_size = 20};
  EXPECT_EQ(schedule.window_ns(), 1'000 * kMs);
  EXPECT_EQ(schedule.idle_sleep_ns(), 2'000 * kMs);
  EXPECT_EQ(schedule.WindowStartNs(10'000 * kMs), 9'000 * kMs);
}

TEST(CheckSchedule, LeavesHalfOfAShortThresholdUndisturbed) {
  CheckSchedule schedule{.threshold_ns = 100 * kMs, .sample_interval_ns = 50 * kMs, .ring_size = 20};
  EXPECT_EQ(schedule.window_ns(), 50 * kMs);
  EXPECT_EQ(schedule.idle_sleep_ns(), 50 * kMs);
  EXPECT_EQ(schedule.WindowStartNs(100 * kMs), 50 * kMs);
}

TEST(CheckSchedule, AShortWindowHasAsManySamplesAsALongOne) {
  const auto interval_ns = [](int64_t threshold_ms, int64_t sample_interval_ms) {
    return CheckSchedule{
        .threshold_ns = threshold_ms * kMs, .sample_interval_ns = sample_interval_ms * kMs, .ring_size = 20}
        .interval_ns();
  };
  EXPECT_EQ(interval_ns(3'000, 50), 50 * kMs);
  EXPECT_EQ(interval_ns(500, 50), 12'500'000);
  EXPECT_EQ(interval_ns(100, 50), 10 * kMs);
  EXPECT_EQ(interval_ns(100, 5), 5 * kMs);
}

TEST(CheckSchedule, ADispatchThatStartsDuringTheIdleSleepIsSampledInTime) {
  for (int64_t threshold_ms : {16, 17, 2'000, 3'600'000}) {
    for (int32_t ring_size : {1, 20, 100}) {
      CheckSchedule schedule{
          .threshold_ns = threshold_ms * kMs, .sample_interval_ns = 50 * kMs, .ring_size = ring_size};
      EXPECT_GT(schedule.window_ns(), 0);
      EXPECT_LE(schedule.window_ns(), schedule.threshold_ns / 2);
      // It may start the moment the sleep does; its first check is when it is as old as the threshold.
      EXPECT_LE(schedule.idle_sleep_ns(), schedule.WindowStartNs(schedule.threshold_ns));
    }
  }
}

}  // namespace
}  // namespace lagwatch::policies
