// SPDX-License-Identifier: Apache-2.0
// Runs retention where programs have one of their own.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "collector/maintenance/app_retention_job.h"
#include "tests/collector/memory_collector.h"
#include "tests/testing/temp_directory.h"

namespace lagwatch::collector {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::MemoryCollector;
using testing::SampleReport;

constexpr int64_t kToday = 20'000;

std::string ReportOfApp(const char* app, int64_t day) {
  SampleReport report;
  report.header.app = app;
  report.header.id = report.header.hang_id = base::CreateUuidV7(day * kMsPerDay + 5);
  report.header.start_wall_ms = static_cast<uint64_t>(day * kMsPerDay + 5);
  return report.Encode();
}

class AppRetention : public ::testing::Test {
 protected:
  // A report of each program on each of the last `days`.
  void Fill(int64_t days) {
    std::vector<std::string> reports;
    for (int64_t day = kToday - days + 1; day <= kToday; ++day)
      for (const char* app : {"short", "long", "odd/../name", "other"})
        reports.push_back(ReportOfApp(app, day));
    ASSERT_EQ(collector_.ingest.Submit(testing::EncodeBatch(reports))->rejected, 0);
  }
  AppRetentionJob Job(Retention retention) {
    return {collector_.store.get(),
            std::move(retention),
            [this] { return wall_day_ * kMsPerDay + 7; },
            {.state_path = directory_ / "retention",
             .confirmed_path = directory_ / "confirmed",
             .mono_ns = [this] { return mono_ns_; }}};
  }
  // As many steps as there are, at one time.
  static void Run(AppRetentionJob* job) {
    for (int i = 0; i < 1000; ++i) {
      const auto has_more = job->Step();
      ASSERT_TRUE(has_more.ok()) << has_more.status().message();
      if (!*has_more) return;
    }
    FAIL() << "it never ends";
  }
  void Confirm() { ASSERT_TRUE(ConfirmClock(directory_ / "confirmed", wall_day_ * kMsPerDay).ok()); }

  // The number of reports of each program.
  std::vector<size_t> Kept() {
    std::vector<size_t> kept;
    for (const char* app : {"short", "long", "odd/../name", "other"})
      kept.push_back(collector_.store->Reports({.app = app}, 1000)->size());
    return kept;
  }

  testing::ScopedMemoryDirectory directory_;
  MemoryCollector collector_;
  int64_t wall_day_ = kToday;
  int64_t mono_ns_ = 0;
};

TEST_F(AppRetention, KeepsEachProgramsRecordsForItsOwnTime) {
  Fill(20);
  const Retention retention{.days = 9, .days_of_apps = {{"short", 1}, {"long", 14}, {"odd/../name", 5}}};
  EXPECT_EQ(retention.LongestDays(), 14);
  Confirm();
  AppRetentionJob job = Job(retention);
  Run(&job);
  EXPECT_THAT(Kept(), ElementsAre(2, 15, 6, 10));
  ++wall_day_;
  Run(&job);
  EXPECT_THAT(Kept(), ElementsAre(1, 14, 5, 9));
  // Each has its state in a file of the data directory.
  for (const char* name : {"retention", "retention-app-short", "retention-app-odd%2f%2e%2e%2fname"})
    EXPECT_EQ(access((directory_ / name).c_str(), F_OK), 0) << name;
}

TEST_F(AppRetention, OthersAreKeptForEverWithoutAGeneralOne) {
  Fill(20);
  const Retention retention{.days = 0, .days_of_apps = {{"short", 3}}};
  EXPECT_EQ(retention.LongestDays(), 0);
  Confirm();
  AppRetentionJob job = Job(retention);
  Run(&job);
  EXPECT_THAT(Kept(), ElementsAre(4, 20, 20, 20));
}

// As a shorter --retention-days: a day's worth in an hour.
TEST_F(AppRetention, AShorterRetentionIsReachedADayInAnHour) {
  Fill(20);
  AppRetentionJob job = Job({.days = 30, .days_of_apps = {{"short", 9}}});
  Run(&job);
  EXPECT_THAT(Kept(), ElementsAre(19, 20, 20, 20));
  Run(&job);
  EXPECT_THAT(Kept(), ElementsAre(19, 20, 20, 20));
  for (int hour = 0; hour < 3; ++hour) {
    mono_ns_ += 3601 * base::kNsPerSecond;
    Run(&job);
  }
  EXPECT_THAT(Kept(), ElementsAre(16, 20, 20, 20));
  // A restart goes on where it was.
  AppRetentionJob restarted = Job({.days = 30, .days_of_apps = {{"short", 9}}});
  Run(&restarted);
  EXPECT_THAT(Kept(), ElementsAre(15, 20, 20, 20));
}

TEST_F(AppRetention, AClockThatJumpsRemovesNothing) {
  Fill(20);
  Confirm();
  AppRetentionJob job = Job({.days = 19, .days_of_apps = {{"short", 9}}});
  Run(&job);
  EXPECT_THAT(Kept(), ElementsAre(10, 20, 20, 20));
  wall_day_ += 100;
  std::string said;
  for (int i = 0; i < 10; ++i) {
    const auto step = job.Step();
    if (!step.ok()) said += step.status().message();
  }
  EXPECT_THAT(said, HasSubstr("confirm-clock"));
  EXPECT_TRUE(job.state().is_held);
  EXPECT_THAT(Kept(), ElementsAre(10, 20, 20, 20));
  wall_day_ = kToday;
  Run(&job);
  EXPECT_FALSE(job.state().is_held);
  EXPECT_THAT(Kept(), ElementsAre(10, 20, 20, 20));
}

// A record that retention would remove at once is refused, by the program's own time.
TEST_F(AppRetention, RecordsOlderThanTheirProgramsTimeAreRefused) {
  const TimeRule rule{.wall_ms = [] { return kToday * kMsPerDay + 7; },
                      .retention_days = 9,
                      .days_of_apps = {{"short", 1}, {"long", 14}}};
  const Ingest ingest(collector_.store.get(), Clusterer::Create("").value(), nullptr, {}, {}, rule);
  const auto is_taken = [&](const char* app, int64_t age_days) {
    return ingest.Submit(testing::EncodeBatch({ReportOfApp(app, kToday - age_days)}))->accepted == 1;
  };
  EXPECT_TRUE(is_taken("short", 1));
  EXPECT_FALSE(is_taken("short", 2));
  EXPECT_TRUE(is_taken("long", 14));
  EXPECT_FALSE(is_taken("long", 15));
  EXPECT_TRUE(is_taken("other", 9));
  EXPECT_FALSE(is_taken("other", 10));
}

}  // namespace
}  // namespace lagwatch::collector
