// SPDX-License-Identifier: Apache-2.0
#include "policies/upload/daily_quota.h"

#include <gtest/gtest.h>

namespace lagwatch::policies {
namespace {

class DailyQuotaTest : public ::testing::Test {
 protected:
  QuotaAnswer Take(uint64_t cluster, ReportPriority priority = ReportPriority::kKilledInHang) {
    return DailyQuota(limits_, &use_).Take(cluster, priority, day_);  // a new process each time
  }
  // The number that is sent of so many causes, one report each.
  int TakeMany(ReportPriority priority, int count = 100) {
    int sent = 0;
    for (int i = 0; i < count; ++i) sent += Take(next_cluster_++, priority) == QuotaAnswer::kSend;
    return sent;
  }

  QuotaLimits limits_;
  QuotaUse use_;
  int64_t day_ = 20'000;
  uint64_t next_cluster_ = 1;
};

TEST_F(DailyQuotaTest, SendsTwentyADay) {
  EXPECT_EQ(TakeMany(ReportPriority::kKilledInHang), 20);
  EXPECT_EQ(Take(7), QuotaAnswer::kDayIsFull);
  ++day_;
  EXPECT_EQ(TakeMany(ReportPriority::kKilledInHang), 20);
}

TEST_F(DailyQuotaTest, WithoutLimitsSendsAll) {
  limits_ = {QuotaLimits::kNoLimit, QuotaLimits::kNoLimit};
  EXPECT_EQ(limits_.RoomFor(ReportPriority::kKilledInHang), QuotaLimits::kNoLimit);
  for (int i = 0; i < 1'000; ++i) EXPECT_EQ(Take(1, ReportPriority::kSlow), QuotaAnswer::kSend);
}

TEST_F(DailyQuotaTest, SendsThreeOfOneCause) {
  for (int i = 0; i < 3; ++i) EXPECT_EQ(Take(1), QuotaAnswer::kSend);
  EXPECT_EQ(Take(1), QuotaAnswer::kClusterIsFull);
  EXPECT_EQ(Take(2), QuotaAnswer::kSend);
  ++day_;
  EXPECT_EQ(Take(1), QuotaAnswer::kSend);
}

TEST_F(DailyQuotaTest, KeepsRoomForWhatMattersMore) {
  EXPECT_EQ(TakeMany(ReportPriority::kSlow), 10);
  EXPECT_EQ(TakeMany(ReportPriority::kCpu), 2);
  EXPECT_EQ(TakeMany(ReportPriority::kHang), 3);
  EXPECT_EQ(TakeMany(ReportPriority::kAnr), 3);
  EXPECT_EQ(TakeMany(ReportPriority::kKilledInHang), 2);
}

TEST_F(DailyQuotaTest, LetsWhatMattersMoreTakeAllRoom) {
  EXPECT_EQ(TakeMany(ReportPriority::kAnr), 18);
  EXPECT_EQ(TakeMany(ReportPriority::kSlow), 0);
}

TEST_F(DailyQuotaTest, GivesNothingForAClockThatIsSetBackAndForth) {
  EXPECT_EQ(TakeMany(ReportPriority::kKilledInHang), 20);
  for (int64_t step : {-1, +1, -3, +3, -30, +30}) {
    day_ += step;
    EXPECT_EQ(TakeMany(ReportPriority::kKilledInHang), 0) << "after a step of " << step;
  }
  ++day_;
  EXPECT_EQ(TakeMany(ReportPriority::kKilledInHang), 20);
}

TEST_F(DailyQuotaTest, ForgetsAClockThatWasYearsAhead) {
  day_ += 3650;
  EXPECT_EQ(TakeMany(ReportPriority::kKilledInHang), 20);
  day_ -= 3650;
  EXPECT_EQ(TakeMany(ReportPriority::kKilledInHang), 20);
  EXPECT_EQ(TakeMany(ReportPriority::kKilledInHang), 0);
  ++day_;
  EXPECT_EQ(TakeMany(ReportPriority::kKilledInHang), 20);
}

TEST_F(DailyQuotaTest, StillCountsTheDayWithMoreCausesThanPlaces) {
  limits_.per_day = 1000;
  EXPECT_EQ(TakeMany(ReportPriority::kKilledInHang, 2000), 1000);
}

TEST_F(DailyQuotaTest, SendsNothingWithoutAQuota) {
  limits_.per_day = 0;
  EXPECT_EQ(Take(1), QuotaAnswer::kDayIsFull);
  limits_ = {.per_day = 20, .per_cluster = 0};
  EXPECT_EQ(Take(1), QuotaAnswer::kClusterIsFull);
}

}  // namespace
}  // namespace lagwatch::policies
