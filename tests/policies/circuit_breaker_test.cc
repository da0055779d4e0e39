// SPDX-License-Identifier: Apache-2.0
#include "policies/upload/circuit_breaker.h"

#include <gtest/gtest.h>

namespace lagwatch::policies {
namespace {

class CircuitBreakerTest : public ::testing::Test {
 protected:
  void Fail(int times, int64_t wished_ms = 0) {
    for (int i = 0; i < times; ++i) breaker_.NoteFailure(now_ms_, wished_ms);
  }
  int64_t WaitMs() const { return breaker_.WaitMs(now_ms_); }

  CircuitBreaker breaker_;
  int64_t now_ms_ = 1'000'000;
};

TEST_F(CircuitBreakerTest, LetsAFewFailuresPass) {
  Fail(CircuitBreaker::kFailuresToOpen - 1);
  EXPECT_EQ(WaitMs(), 0);
  Fail(1);
  EXPECT_EQ(WaitMs(), CircuitBreaker::kFirstPauseMs);
}

TEST_F(CircuitBreakerTest, AnAnswerBeginsTheCountAnew) {
  Fail(CircuitBreaker::kFailuresToOpen - 1);
  breaker_.NoteAnswer();
  Fail(CircuitBreaker::kFailuresToOpen - 1);
  EXPECT_EQ(WaitMs(), 0);
}

TEST_F(CircuitBreakerTest, AfterAPauseOneTryDecides) {
  Fail(CircuitBreaker::kFailuresToOpen);
  now_ms_ += CircuitBreaker::kFirstPauseMs;
  EXPECT_EQ(WaitMs(), 0);
  Fail(1);
  EXPECT_EQ(WaitMs(), 2 * CircuitBreaker::kFirstPauseMs);
  now_ms_ += 2 * CircuitBreaker::kFirstPauseMs;
  breaker_.NoteAnswer();
  EXPECT_EQ(WaitMs(), 0);
  EXPECT_FALSE(breaker_.is_open());
}

TEST_F(CircuitBreakerTest, PausesGrowToAnHour) {
  for (int i = 0; i < 1'000; ++i) {
    Fail(1);
    EXPECT_LE(WaitMs(), CircuitBreaker::kLongestPauseMs);
    now_ms_ += WaitMs();
  }
  Fail(1);
  EXPECT_EQ(WaitMs(), CircuitBreaker::kLongestPauseMs);
}

TEST_F(CircuitBreakerTest, AWishIsGrantedUpToADay) {
  Fail(1, 7'200'000);
  EXPECT_EQ(WaitMs(), 7'200'000);
  Fail(1, 1'000);  // a shorter one takes nothing away
  EXPECT_EQ(WaitMs(), 7'200'000);
  Fail(1, INT64_MAX);
  EXPECT_EQ(WaitMs(), CircuitBreaker::kLongestRequestMs);
  breaker_.NoteAnswer();
  Fail(1, -5);
  EXPECT_EQ(WaitMs(), 0);
}

}  // namespace
}  // namespace lagwatch::policies
