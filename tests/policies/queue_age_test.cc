// SPDX-License-Identifier: Apache-2.0
#include "policies/queue_age.h"

#include <gtest/gtest.h>

#include <deque>

#include "tests/policies/milliseconds.h"

namespace lagwatch::policies {
namespace {

constexpr int64_t kThresholdNs = 1000 * kMs;

class QueueAgeTest : public ::testing::Test {
 protected:
  void Look(int64_t at_ms, uint64_t queued, uint64_t run) {
    now_ns_ = at_ms * kMs;
    age_.Observe(now_ns_, queued, run, kThresholdNs);
  }
  int64_t AgeMs() const { return age_.number() == 0 ? 0 : (now_ns_ - age_.begin_ns()) / kMs; }

  int64_t now_ns_ = 0;
  QueueAge age_;
};

TEST_F(QueueAgeTest, IsNoneOfAnEmptyQueue) {
  Look(100, 0, 0);
  EXPECT_EQ(age_.number(), 0u);
  Look(5000, 10, 10);
  EXPECT_EQ(age_.number(), 0u);
  Look(6000, 10, 11);  // more run than queued: noted twice, or before the watch
  EXPECT_EQ(age_.number(), 0u);
  EXPECT_EQ(age_.length(), 0u);
}

TEST_F(QueueAgeTest, IsThatOfTheFirstLookThatSawTheTask) {
  Look(100, 1, 0);
  Look(600, 1, 0);
  Look(1100, 3, 0);
  EXPECT_EQ(AgeMs(), 1000);
  EXPECT_EQ(age_.length(), 3u);
}

TEST_F(QueueAgeTest, StaysSmallInALongQueueThatMoves) {
  for (int i = 0; i < 100; ++i) {
    Look(i * 100, static_cast<uint64_t>(1000 + i * 10), static_cast<uint64_t>(i * 10 + 950));
    EXPECT_LE(AgeMs(), 500);
  }
}

TEST_F(QueueAgeTest, FindsTheLastOfABurst) {
  Look(0, 1000, 0);
  uint64_t number = age_.number();
  for (int i = 1; i <= 30; ++i) Look(i * 100, 1000, static_cast<uint64_t>(i * 10));
  EXPECT_EQ(AgeMs(), 3000);
  EXPECT_EQ(age_.number(), number);
}

TEST_F(QueueAgeTest, IsOneWaitAsLongAsEachOldestTaskIsOverdue) {
  // Each task waits for 2 s.
  for (int i = 0; i < 21; ++i) Look(i * 100, static_cast<uint64_t>(i + 1), 0);
  uint64_t number = age_.number();
  for (int i = 21; i < 60; ++i) Look(i * 100, static_cast<uint64_t>(i + 1), static_cast<uint64_t>(i - 20));
  EXPECT_EQ(age_.number(), number);
  EXPECT_EQ(AgeMs(), 5900);
  Look(6000, 60, 59);
  EXPECT_NE(age_.number(), number);
  Look(6100, 60, 60);
  EXPECT_EQ(age_.number(), 0u);
}

// Against a queue that knows each task's time.
TEST_F(QueueAgeTest, IsNeverMoreThanTheTruthAndShortByOneLookAtMost) {
  std::deque<int64_t> waiting_since_ms;
  uint64_t queued = 0;
  uint64_t run = 0;
  uint64_t random = 1;
  for (int64_t ms = 1; ms < 100'000; ++ms) {
    random = random * 6364136223846793005 + 1442695040888963407;
    bool is_slow = ms / 5000 % 2 != 0;
    if (random >> 40 & 1) {
      waiting_since_ms.push_back(ms);
      ++queued;
    }
    if (!waiting_since_ms.empty() && (random >> 33 & 3) >= (is_slow ? 3 : 1)) {
      waiting_since_ms.pop_front();
      ++run;
    }
    if (ms % 100 != 0) continue;
    bool was_overdue = AgeMs() >= 1000;
    Look(ms, queued, run);
    int64_t truth_ms = waiting_since_ms.empty() ? 0 : ms - waiting_since_ms.front();
    if (!was_overdue) {
      EXPECT_LE(AgeMs(), truth_ms);
    }
    // Marks are 200 ms apart here.
    if (truth_ms >= 1000) {
      EXPECT_GE(AgeMs(), 700);
    }
  }
}

}  // namespace
}  // namespace lagwatch::policies
