// SPDX-License-Identifier: Apache-2.0
#include "policies/upload/spool_open_retry.h"

#include <gtest/gtest.h>

#include <cstdint>

namespace lagwatch::policies {
namespace {

constexpr int64_t kSecondNs = 1'000'000'000;

class SpoolOpenRetryTest : public ::testing::Test {
 protected:
  bool MayTry(int64_t now_ns) const {
    return pause_.MayTry(now_ns, [this] { return state_; });
  }
  void Fail(int64_t now_ns) { pause_.NoteFailed(now_ns, state_); }

  SpoolOpenRetry pause_;
  uint64_t state_ = 7;
};

TEST_F(SpoolOpenRetryTest, TheFirstTriesComeAtOnceAndLaterOnesMoreAndMoreRarely) {
  int64_t now_ns = 0;
  for (int i = 0; i < SpoolOpenRetry::kTriesAtOnce; ++i) {
    ASSERT_TRUE(MayTry(now_ns));
    Fail(now_ns);
  }
  for (int64_t pause_s : {1, 2, 4, 8, 16, 32, 60, 60, 60}) {
    EXPECT_FALSE(MayTry(now_ns + pause_s * kSecondNs - 1)) << pause_s;
    now_ns += pause_s * kSecondNs;
    ASSERT_TRUE(MayTry(now_ns)) << pause_s;
    Fail(now_ns);
  }
}

TEST_F(SpoolOpenRetryTest, AChangeAllowsATryAtOnce) {
  for (int i = 0; i < 10; ++i) Fail(0);
  EXPECT_FALSE(MayTry(0));
  state_ = 8;
  EXPECT_TRUE(MayTry(0));
  Fail(0);
  EXPECT_FALSE(MayTry(0)) << "the new state has failed, too";
}

TEST_F(SpoolOpenRetryTest, ASuccessForgetsTheFailures) {
  for (int i = 0; i < 10; ++i) Fail(0);
  pause_.NoteWorked();
  EXPECT_TRUE(MayTry(0));
  Fail(0);
  EXPECT_TRUE(MayTry(0));
}

}  // namespace
}  // namespace lagwatch::policies
