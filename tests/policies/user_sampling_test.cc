// SPDX-License-Identifier: Apache-2.0
#include "policies/upload/user_sampling.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

namespace lagwatch::policies {
namespace {

constexpr int64_t kDay = 20'000;

std::vector<std::string> Users(int count) {
  std::vector<std::string> users;
  for (int i = 0; i < count; ++i) users.push_back("user-" + std::to_string(i));
  return users;
}

double SharePercent(const std::vector<std::string>& users, const UserSampling& sampling, int64_t day) {
  int sampled = 0;
  for (const std::string& user : users) sampled += sampling.IsSampled(user, day);
  return 100.0 * sampled / static_cast<double>(users.size());
}

TEST(DayOf, IsTheSameEverywhereOnEarth) {
  EXPECT_EQ(DayOf(0), 0);
  EXPECT_EQ(DayOf(base::kMsPerDay - 1), 0);
  EXPECT_EQ(DayOf(base::kMsPerDay), 1);
  EXPECT_EQ(DayOf(-1), -1);
  EXPECT_EQ(DayOf(-base::kMsPerDay), -1);
  EXPECT_EQ(DayOf(-base::kMsPerDay - 1), -2);
}

TEST(UserSampling, TakesItsShareOnEachOfThirtyDays) {
  const std::vector<std::string> users = Users(100'000);
  for (int64_t day = kDay; day < kDay + 30; ++day) EXPECT_NEAR(SharePercent(users, {}, day), 5.0, 0.3) << day;
}

TEST(UserSampling, TakesOthersEachDay) {
  const std::vector<std::string> users = Users(100'000);
  int both = 0;
  const UserSampling sampling;
  for (const std::string& user : users)
    both += sampling.IsSampled(user, kDay) && sampling.IsSampled(user, kDay + 1);
  EXPECT_NEAR(both, 0.05 * 0.05 * 100'000, 60);  // as chance has it
}

TEST(UserSampling, TakesEachUserAsOftenAsTheOthers) {
  const UserSampling sampling{.rate_ppm = 500'000};
  for (const std::string& user : Users(100)) {
    int days = 0;
    for (int64_t day = kDay; day < kDay + 1000; ++day) days += sampling.IsSampled(user, day);
    EXPECT_NEAR(days, 500, 80) << user;
  }
}

TEST(UserSampling, AnswersTheSameAllDay) {
  const UserSampling sampling{.rate_ppm = 500'000, .salt = 7};
  for (const std::string& user : Users(100))
    EXPECT_EQ(sampling.IsSampled(user, kDay), sampling.IsSampled(user, kDay));
}

TEST(UserSampling, TakesAllOrNobody) {
  for (const std::string& user : Users(1000)) {
    EXPECT_TRUE((UserSampling{.rate_ppm = UserSampling::kAllPpm}.IsSampled(user, kDay)));
    EXPECT_FALSE((UserSampling{.rate_ppm = 0}.IsSampled(user, kDay)));
  }
}

TEST(UserSampling, DrawsOthersWithAnotherSalt) {
  int both = 0;
  for (const std::string& user : Users(100'000))
    both += UserSampling{.salt = 1}.IsSampled(user, kDay) && UserSampling{.salt = 2}.IsSampled(user, kDay);
  EXPECT_NEAR(both, 250, 60);
}

TEST(UserSampling, KeepsAUserOfASmallShareInALargerOne) {
  for (const std::string& user : Users(10'000)) {
    if (!UserSampling{.rate_ppm = 10'000}.IsSampled(user, kDay)) continue;
    EXPECT_TRUE((UserSampling{.rate_ppm = 50'000}.IsSampled(user, kDay)));
  }
}

// Totals that are weighted by the rate are right, though users with more hangs are sampled no more often.
TEST(UserSampling, GivesTotalsWithoutABias) {
  const std::vector<std::string> users = Users(100'000);
  const UserSampling sampling;
  double truth = 0;
  double estimate = 0;
  for (int64_t day = kDay; day < kDay + 30; ++day) {
    for (size_t i = 0; i < users.size(); ++i) {
      const double hangs = static_cast<double>(i % 100 == 0 ? 40 : i % 7);
      truth += hangs;
      if (sampling.IsSampled(users[i], day)) estimate += hangs * UserSampling::kAllPpm / sampling.rate_ppm;
    }
  }
  EXPECT_LT(std::abs(estimate / truth - 1), 0.03);
}

}  // namespace
}  // namespace lagwatch::policies
