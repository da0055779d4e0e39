// SPDX-License-Identifier: Apache-2.0
#include "policies/annealing.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

namespace lagwatch::policies {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;

std::vector<int64_t> NextIntervals(Annealing* annealing, int count) {
  std::vector<int64_t> intervals_ns;
  for (int i = 0; i < count; ++i) intervals_ns.push_back(annealing->NextIntervalNs());
  return intervals_ns;
}

TEST(Annealing, GrowsAsFibonacciTimesThePeriodUpToItsCap) {
  Annealing annealing(1'000, 60'000);
  EXPECT_THAT(NextIntervals(&annealing, 11),
              ElementsAre(1'000, 1'000, 2'000, 3'000, 5'000, 8'000, 13'000, 21'000, 34'000, 55'000, 60'000));
  EXPECT_THAT(NextIntervals(&annealing, 1'000), Each(60'000));
}

TEST(Annealing, StartsAgainAfterAReset) {
  Annealing annealing(1'000, 60'000);
  NextIntervals(&annealing, 100);
  annealing.Reset();
  EXPECT_THAT(NextIntervals(&annealing, 5), ElementsAre(1'000, 1'000, 2'000, 3'000, 5'000));
}

TEST(Annealing, NeverExceedsACapBelowItsPeriod) {
  Annealing annealing(1'000, 700);
  EXPECT_THAT(NextIntervals(&annealing, 3), Each(700));
}

TEST(Annealing, DoesNotOverflowOnItsWayToALargeCap) {
  Annealing annealing(1, INT64_MAX / 2);
  std::vector<int64_t> intervals_ns = NextIntervals(&annealing, 200);
  EXPECT_TRUE(std::is_sorted(intervals_ns.begin(), intervals_ns.end()));
  EXPECT_EQ(intervals_ns.back(), INT64_MAX / 2);
}

}  // namespace
}  // namespace lagwatch::policies
