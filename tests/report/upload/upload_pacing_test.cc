// SPDX-License-Identifier: Apache-2.0
#include "report/upload/upload_pacing.h"

#include <gtest/gtest.h>

namespace lagwatch::report {
namespace {

using AnswerKind = UploadAnswer::Kind;

constexpr uint64_t kLeastRandom = 0;
constexpr int64_t kCapMs = 3'600'000;

UploadAnswer Answer(AnswerKind kind, int64_t retry_after_s = 0) {
  return {.kind = kind, .retry_after_s = retry_after_s};
}

TEST(UploadPacing, GoesOnAtOnceAfterASuccessAndPollsWhenIdle) {
  UploadPacing pacing;
  EXPECT_EQ(pacing.DelayMs(Answer(AnswerKind::kDelivered), kLeastRandom), 0);
  EXPECT_EQ(pacing.DelayMs(std::nullopt, kLeastRandom), UploadPacing::kPollMs);
  EXPECT_FALSE(pacing.is_failing());
}

TEST(UploadPacing, BacksOffWithJitterUpToItsCapUntilASuccess) {
  UploadPacing pacing;
  int64_t longest_ms = 0;
  for (int failure = 0; failure < 40; ++failure) {
    // A random number just under a power of two is the longest wait at each step before the cap.
    int64_t delay_ms = pacing.DelayMs(Answer(AnswerKind::kTryLater), kCapMs - 1);
    EXPECT_GT(delay_ms, 0);
    longest_ms = std::max(longest_ms, delay_ms);
  }
  EXPECT_GE(longest_ms, kCapMs);
  EXPECT_LT(longest_ms, 2 * kCapMs);
  EXPECT_TRUE(pacing.is_failing());
  pacing.DelayMs(Answer(AnswerKind::kDelivered), kLeastRandom);
  EXPECT_FALSE(pacing.is_failing());
  EXPECT_LT(pacing.DelayMs(Answer(AnswerKind::kTryLater), kCapMs - 1), 2'000);
}

TEST(UploadPacing, HonoursRetryAfterUpToADay) {
  UploadPacing pacing;
  EXPECT_EQ(pacing.DelayMs(Answer(AnswerKind::kTryLater, 3'600), kLeastRandom), 3'600'000);
  EXPECT_EQ(pacing.DelayMs(Answer(AnswerKind::kTryLater, INT64_MAX), kLeastRandom),
            UploadPacing::kMaxRetryAfterMs);
  EXPECT_GT(pacing.DelayMs(Answer(AnswerKind::kTryLater, -5), kLeastRandom), 0);
}

TEST(UploadPacing, AWrongKeyWaitsForHours) {
  UploadPacing pacing;
  EXPECT_EQ(pacing.DelayMs(Answer(AnswerKind::kUnauthorized), kLeastRandom), UploadPacing::kUnauthorizedMs);
}

}  // namespace
}  // namespace lagwatch::report
