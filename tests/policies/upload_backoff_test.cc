// SPDX-License-Identifier: Apache-2.0
#include "policies/upload/upload_backoff.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace lagwatch::policies {
namespace {

int64_t LongestDelayMs(const UploadBackoff& upload_backoff, int failures) {
  int64_t longest_ms = 0;
  for (uint64_t random = 0; random < 4'096; ++random) {
    longest_ms = std::max(longest_ms, upload_backoff.DelayMs(failures, random));
  }
  return longest_ms;
}

TEST(UploadBackoff, StaysWithinItsBoundsForEveryRandom) {
  const UploadBackoff upload_backoff;
  std::mt19937_64 generator(1);
  for (int failures : {1, 2, 8, 9, 31, 64, 1'000'000}) {
    for (int i = 0; i < 10'000; ++i) {
      int64_t delay_ms = upload_backoff.DelayMs(failures, generator());
      ASSERT_GE(delay_ms, upload_backoff.first_ms / 2);
      ASSERT_LE(delay_ms, upload_backoff.cap_ms);
    }
    for (uint64_t extreme : {uint64_t{0}, UINT64_MAX}) {
      EXPECT_GE(upload_backoff.DelayMs(failures, extreme), upload_backoff.first_ms / 2);
      EXPECT_LE(upload_backoff.DelayMs(failures, extreme), upload_backoff.cap_ms);
    }
  }
}

TEST(UploadBackoff, ItsCeilingDoublesWithEachFailureUpToTheCap) {
  const UploadBackoff upload_backoff{.first_ms = 10, .cap_ms = 100};
  EXPECT_EQ(LongestDelayMs(upload_backoff, 1), 5 + 9);
  EXPECT_EQ(LongestDelayMs(upload_backoff, 2), 5 + 19);
  EXPECT_EQ(LongestDelayMs(upload_backoff, 3), 5 + 39);
  EXPECT_EQ(LongestDelayMs(upload_backoff, 4), 5 + 79);
  EXPECT_EQ(LongestDelayMs(upload_backoff, 5), 100);
  EXPECT_EQ(LongestDelayMs(upload_backoff, 1'000), 100);
}

TEST(UploadBackoff, IsNeverZero) {
  const UploadBackoff smallest{.first_ms = 1, .cap_ms = 1};
  for (int failures : {1, 2, 100}) EXPECT_EQ(smallest.DelayMs(failures, 0), 1);
}

}  // namespace
}  // namespace lagwatch::policies
