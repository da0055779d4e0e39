// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "policies/check_schedule.h"

namespace lagwatch::policies {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;

std::vector<int64_t> NextIntervals(RecheckInterval* recheck_interval, int count) {
  std::vector<int64_t> intervals_ns;
  for (int i = 0; i < count; ++i) intervals_ns.push_back(recheck_interval->NextIntervalNs());
  return intervals_ns;
}

TEST(RecheckInterval, GrowsAsFibonacciTimesThePeriodUpToItsCap) {
  RecheckInterval recheck_interval(1'000, 60'000);
  EXPECT_THAT(NextIntervals(&recheck_interval, 11),
              ElementsAre(1'000, 1'000, 2'000, 3'000, 5'000, 8'000, 13'000, 21'000, 34'000, 55'000, 60'000));
  EXPECT_THAT(NextIntervals(&recheck_interval, 1'000), Each(60'000));
}

TEST(RecheckInterval, StartsAgainAfterAReset) {
  RecheckInterval recheck_interval(1'000, 60'000);
  NextIntervals(&recheck_interval, 100);
  recheck_interval.Reset();
  EXPECT_THAT(NextIntervals(&recheck_interval, 5), ElementsAre(1'000, 1'000, 2'000, 3'000, 5'000));
}

TEST(RecheckInterval, NeverExceedsACapBelowItsPeriod) {
  RecheckInterval recheck_interval(1'000, 700);
  EXPECT_THAT(NextIntervals(&recheck_interval, 3), Each(700));
}

TEST(RecheckInterval, DoesNotOverflowOnItsWayToALargeCap) {
  RecheckInterval recheck_interval(1, INT64_MAX / 2);
  std::vector<int64_t> intervals_ns = NextIntervals(&recheck_interval, 200);
  EXPECT_TRUE(std::is_sorted(intervals_ns.begin(), intervals_ns.end()));
  EXPECT_EQ(intervals_ns.back(), INT64_MAX / 2);
}

}  // namespace
}  // namespace lagwatch::policies
