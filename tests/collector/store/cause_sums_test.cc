// SPDX-License-Identifier: Apache-2.0
#include "collector/cluster/cause_sums.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

namespace lagwatch::collector {
namespace {

constexpr int64_t kMs = 1'000'000;

TEST(DurationSketch, IsExactForFew) {
  DurationSketch sketch;
  for (int64_t ms : {2000, 2500, 700}) sketch.Add(ms * kMs, 1);
  EXPECT_EQ(sketch.PercentileNs(50), 2000 * kMs);
  EXPECT_EQ(sketch.PercentileNs(100), 2500 * kMs);
  EXPECT_EQ(DurationSketch().PercentileNs(50), 0);
}

TEST(DurationSketch, IsWithinItsErrorForMany) {
  std::mt19937_64 random(7);
  std::lognormal_distribution<double> hang_ms(6.5, 1);
  std::vector<int64_t> hangs;
  DurationSketch sketch;
  for (int i = 0; i < 20'000; ++i) {
    hangs.push_back(static_cast<int64_t>(hang_ms(random) * kMs));
    sketch.Add(hangs.back(), 1);
  }
  std::ranges::sort(hangs);
  for (int percent : {1, 50, 95, 99}) {
    const auto exact = static_cast<double>(hangs[hangs.size() * percent / 100 - 1]);
    EXPECT_NEAR(static_cast<double>(sketch.PercentileNs(percent)), exact, 0.0115 * exact) << percent;
  }
}

TEST(DurationSketch, WhatIsTakenOutLeavesNothing) {
  DurationSketch sketch, many;
  for (int64_t i = 1; i <= 100; ++i) sketch.Add(i * kMs, 1);
  for (int64_t i = 1; i <= 100; ++i) sketch.Add(i * kMs, -1);
  EXPECT_EQ(sketch.PercentileNs(50), 0);
  DurationSketch change;  // one hang became longer
  change.Add(5 * kMs, -1);
  change.Add(9 * kMs, 1);
  many.Add(5 * kMs, 1);
  many.Add(change);
  EXPECT_EQ(many.PercentileNs(50), 9 * kMs);
}

TEST(DurationSketch, PartsAddUpToTheWhole) {
  DurationSketch whole, few, many;
  for (int64_t i = 1; i <= 200; ++i) {
    whole.Add(i * kMs, 1);
    (i % 20 == 0 ? few : many).Add(i * kMs, 1);
  }
  few.Add(many);
  EXPECT_EQ(few, whole);
}

TEST(UserSketch, CountsEachOnceExactlyAtFirstAndNearlyLater) {
  UserSketch sketch;
  int64_t users = 0;
  for (int64_t goal : {1, 256, 1000, 100'000}) {
    for (; users < goal; ++users) {
      sketch.Add("user-" + std::to_string(users));
      sketch.Add("user-" + std::to_string(users / 2));
    }
    const double error = goal <= 256 ? 0 : 0.1 * static_cast<double>(goal);
    EXPECT_NEAR(static_cast<double>(sketch.Count()), static_cast<double>(goal), error);
  }
}

TEST(UserSketch, PartsAddUpToTheWhole) {
  UserSketch whole, odd, even;
  for (int i = 0; i < 1000; ++i) {
    whole.Add(std::to_string(i));
    (i % 2 ? odd : even).Add(std::to_string(i));
  }
  odd.Add(even);
  EXPECT_EQ(odd, whole);
}

CauseSums SumsOf(int hangs) {
  CauseSums sums;
  for (int i = 0; i < hangs; ++i) {
    Contribution{
        .hangs = 1, .hang_ns = i * kMs, .duration_ns = i * kMs, .seen_ms = i, .user = std::to_string(i)}
        .AddTo(&sums, 1);
  }
  return sums;
}

TEST(CauseSums, SketchesSurviveTheDisk) {
  for (int hangs : {0, 1, 30, 1000}) {
    const CauseSums sums = SumsOf(hangs);
    CauseSums read;
    DecodeSketches(EncodeSketches(sums), &read);
    EXPECT_EQ(read.durations, sums.durations);
    EXPECT_EQ(read.users, sums.users);
  }
}

TEST(CauseSums, DamagedSketchesAreEmpty) {
  const std::string bytes = EncodeSketches(SumsOf(1000));
  for (size_t size = 0; size < bytes.size(); size += 7) {
    CauseSums read;
    DecodeSketches(std::string_view(bytes).substr(0, size), &read);
    EXPECT_EQ(read.users.Count(), 0);
  }
}

TEST(CauseSums, AHostileHangSpoilsNoSum) {
  CauseSums sums;
  Contribution{.hangs = 1, .hang_ns = INT64_MAX, .duration_ns = INT64_MAX, .seen_ms = 1}.AddTo(&sums, 1);
  Contribution{.hangs = 1, .hang_ns = 5 * kMs, .duration_ns = 5 * kMs, .seen_ms = 1}.AddTo(&sums, 1);
  Contribution{.hangs = 1, .hang_ns = INT64_MAX, .duration_ns = INT64_MAX, .seen_ms = 1}.AddTo(&sums, -1);
  EXPECT_EQ(sums.hang_ns, 5 * kMs);
}

}  // namespace
}  // namespace lagwatch::collector
