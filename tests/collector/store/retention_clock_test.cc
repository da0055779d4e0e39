// SPDX-License-Identifier: Apache-2.0
// Runs retention under wall clocks that are wrong. On SQLite alone: the job decides by what each
// store answers alike.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <tuple>

#include "collector/maintenance/retention_job.h"
#include "tests/collector/memory_collector.h"
#include "tests/testing/temp_directory.h"

namespace lagwatch::collector {
namespace {

using ::testing::HasSubstr;
using testing::MemoryCollector;
using testing::SampleReport;

constexpr int64_t kNewestDay = 20'000;

SampleReport ReportOfADay(int64_t day) {
  SampleReport report;
  report.header.id = report.header.hang_id = base::CreateUuidV7(day * kMsPerDay + 5);
  report.header.start_wall_ms = static_cast<uint64_t>(day * kMsPerDay + 5);
  report.header.elapsed_ns = 1'000'000'000;
  return report;
}

class RetentionClock : public ::testing::Test {
 protected:
  RetentionJob Job(int64_t days = 90) {
    return {collector_.store.get(),
            days,
            [this] { return wall_day_ * kMsPerDay + 7; },
            {.state_path = directory_ / "retention",
             .confirmed_path = directory_ / "confirmed",
             .mono_ns = [this] { return mono_ns_; }}};
  }

  // A report of each of the last `days`.
  void Fill(int64_t days) {
    std::vector<SampleReport> reports;
    for (int64_t day = kNewestDay - days + 1; day <= kNewestDay; ++day) reports.push_back(ReportOfADay(day));
    collector_.Submit(reports);
  }

  int64_t Kept() { return collector_.store->Causes({})->all.sums.reports; }

  testing::ScopedTempDirectory directory_;
  MemoryCollector collector_;
  int64_t wall_day_ = kNewestDay;
  int64_t mono_ns_ = 0;
};

TEST_F(RetentionClock, AJumpOfAHundredDaysRemovesNothing) {
  Fill(90);
  RetentionJob job = Job();
  EXPECT_FALSE(job.Step().value());
  wall_day_ += 100;
  const auto held = job.Step();
  EXPECT_THAT(held.status().message(), HasSubstr("confirm-clock"));
  EXPECT_TRUE(job.state().is_held);
  EXPECT_TRUE(job.Step().ok());  // said once in an hour
  EXPECT_EQ(Kept(), 90);
  // A restart knows as much.
  EXPECT_FALSE(Job().Step().ok());
  EXPECT_EQ(Kept(), 90);
  // Nor is anything lost once the clock is right again.
  wall_day_ = kNewestDay;
  EXPECT_FALSE(job.Step().value());
  EXPECT_FALSE(job.state().is_held);
  EXPECT_EQ(Kept(), 90);
}

TEST_F(RetentionClock, AFirstStartWithAWrongClockRemovesNothing) {
  Fill(90);
  wall_day_ += 100;
  EXPECT_FALSE(Job().Step().ok());
  EXPECT_EQ(Kept(), 90);
}

TEST_F(RetentionClock, GoesOnAtOnceWhenItIsToldThatTheClockIsRight) {
  Fill(90);
  RetentionJob job = Job();
  EXPECT_FALSE(job.Step().value());
  wall_day_ += 40;
  EXPECT_FALSE(job.Step().ok());
  ASSERT_TRUE(ConfirmClock(directory_ / "confirmed", wall_day_ * kMsPerDay).ok());
  EXPECT_FALSE(job.Step().value());
  EXPECT_FALSE(job.state().is_held);
  EXPECT_EQ(Kept(), 51);
  // The confirmation was for that day, not for ever.
  wall_day_ += 40;
  EXPECT_FALSE(job.Step().ok());
  EXPECT_EQ(Kept(), 51);
}

TEST_F(RetentionClock, ADayIsRemovedEachDayWithoutAWord) {
  Fill(90);
  RetentionJob job = Job(30);
  for (int64_t day = 0; day < 5; ++day, ++wall_day_) EXPECT_FALSE(job.Step().value());
  EXPECT_EQ(Kept(), 31 - 4);
}

// The collector was off for four days: what programs send now says that its clock is right.
TEST_F(RetentionClock, CatchesUpADayInAnHourWhenRecordsAgreeWithTheClock) {
  Fill(31);
  RetentionJob job = Job(30);
  EXPECT_FALSE(job.Step().value());
  wall_day_ += 4;
  EXPECT_FALSE(job.Step().ok());
  collector_.Submit({ReportOfADay(wall_day_)});
  EXPECT_FALSE(job.Step().value());
  EXPECT_EQ(Kept(), 31);  // one came, one went
  EXPECT_FALSE(job.Step().value());
  EXPECT_EQ(Kept(), 31);
  mono_ns_ += 3601 * base::kNsPerSecond;
  EXPECT_FALSE(job.Step().value());
  EXPECT_EQ(Kept(), 30);
}

TEST_F(RetentionClock, AClockThatWentBackAndForthRemovesADayAtMost) {
  Fill(90);
  RetentionJob job = Job();
  EXPECT_FALSE(job.Step().value());
  for (const int64_t day : {kNewestDay - 1000, kNewestDay + 1000, kNewestDay - 50, kNewestDay + 100}) {
    wall_day_ = day;
    std::ignore = job.Step();
    EXPECT_GE(Kept(), 89) << day;
  }
}

}  // namespace
}  // namespace lagwatch::collector
