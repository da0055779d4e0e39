// SPDX-License-Identifier: Apache-2.0
#include "policies/usage.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

#include "tests/policies/milliseconds.h"

namespace lagwatch::policies {
namespace {

TEST(DurationHistogram, HasABucketForEachDoubling) {
  EXPECT_EQ(DurationHistogram::BucketOf(0, kMs), 0u);
  EXPECT_EQ(DurationHistogram::BucketOf(kMs - 1, kMs), 0u);
  EXPECT_EQ(DurationHistogram::BucketOf(kMs, kMs), 1u);
  for (size_t bucket = 1; bucket + 1 < DurationHistogram::kBuckets; ++bucket) {
    uint64_t first = DurationHistogram::FirstMsOf(bucket) * kMs;
    EXPECT_EQ(DurationHistogram::BucketOf(first, kMs), bucket);
    EXPECT_EQ(DurationHistogram::BucketOf(first - 1, kMs), bucket - 1);
  }
  EXPECT_EQ(DurationHistogram::BucketOf(16'384 * kMs, kMs), 15u);
  EXPECT_EQ(DurationHistogram::BucketOf(UINT64_MAX, kMs), 15u);
}

TEST(DurationHistogram, SurvivesAnUnknownUnit) { EXPECT_EQ(DurationHistogram::BucketOf(5, 0), 3u); }

TEST(SuppressedReason, EachHasANameOfItsOwn) {
  std::set<std::string_view> names;
  for (size_t i = 0; i < kSuppressedReasons; ++i)
    names.insert(SuppressedReasonName(static_cast<SuppressedReason>(i)));
  EXPECT_EQ(names.size(), kSuppressedReasons);
  EXPECT_EQ(SuppressedReasonName(static_cast<SuppressedReason>(200)), "unknown");
}

}  // namespace
}  // namespace lagwatch::policies
