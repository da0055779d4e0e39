// SPDX-License-Identifier: Apache-2.0
#include "collector/query/causes/rate_interval.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

namespace lagwatch::collector {
namespace {

constexpr int64_t kNsPerSecond = 1'000'000'000;

void AddHang(double seconds, const std::string& user, CauseSums* sums) {
  const auto ns = static_cast<int64_t>(seconds * kNsPerSecond);
  Contribution{.hangs = 1, .hang_ns = ns, .duration_ns = ns, .user = user}.AddTo(sums, 1);
}

TEST(RateInterval, IsThatOfAPoissonProcessWhereEachUserHasOneHang) {
  CauseSums sums;
  for (int i = 0; i < 100; ++i) AddHang(2, std::to_string(i), &sums);
  const RateInterval interval = IntervalOf(50, sums);
  EXPECT_NEAR(interval.low, 50 * std::exp(-1.96 / 10), 0.01);
  EXPECT_NEAR(interval.high, 50 * std::exp(1.96 / 10), 0.01);
}

TEST(RateInterval, IsWiderWhereFewUsersHaveAllHangs) {
  CauseSums sums;
  for (int i = 0; i < 100; ++i) AddHang(2, std::to_string(i % 4), &sums);
  EXPECT_NEAR(IntervalOf(50, sums).high, 50 * std::exp(1.96 / 2), 0.1);
}

TEST(RateInterval, OfNoHangEndsAtThreeOfTheMean) {
  CauseSums others;
  AddHang(1, "a", &others);
  AddHang(3, "b", &others);
  EXPECT_DOUBLE_EQ(MostNsWithoutHang(others, 2 * 3.6e12), 3.0 * 2 * kNsPerSecond / 2);
  EXPECT_EQ(MostNsWithoutHang({}, 3.6e12), 0);
}

// The truth is planted: users have hangs of their own rate, and durations differ.
TEST(RateInterval, HoldsTheTrueRateInNineteenOfTwentyCases) {
  constexpr int kCases = 1000;
  constexpr int kUsers = 60;
  constexpr double kHangsOfAUser = 1.5;
  constexpr double kMeanSeconds = 2;
  std::mt19937 random(7);
  std::exponential_distribution<double> seconds(1 / kMeanSeconds);
  int held = 0;
  for (int i = 0; i < kCases; ++i) {
    CauseSums sums;
    for (int user = 0; user < kUsers; ++user) {
      const int hangs = std::poisson_distribution<int>(kHangsOfAUser)(random);
      for (int hang = 0; hang < hangs; ++hang) AddHang(seconds(random), std::to_string(user), &sums);
    }
    const RateInterval interval = IntervalOf(sums.hang_ns / kNsPerSecond / kUsers, sums);
    const double truth = kHangsOfAUser * kMeanSeconds;
    held += interval.low <= truth && truth <= interval.high;
  }
  EXPECT_GE(held, kCases * 94 / 100);
}

}  // namespace
}  // namespace lagwatch::collector
