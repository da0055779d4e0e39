// SPDX-License-Identifier: Apache-2.0
// A store that may have some MiB, filled by reports.
#include "collector/maintenance/store_quota.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <optional>
#include <random>

#include "collector/maintenance/retention_job.h"
#include "tests/collector/large_report.h"
#include "tests/collector/memory_collector.h"
#include "tests/collector/sample_traces.h"
#include "tests/testing/temp_directory.h"

namespace lagwatch::collector {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr int64_t kQuotaDay = 20'000;
constexpr uint64_t kQuotaMiB = 1 << 20;

class StoreQuotaTest : public ::testing::Test {
 protected:
  void Open(uint64_t most_bytes) {
    quota_.emplace(
        store_.get(), most_bytes,
        StoreQuotaOptions{.wall_ms = [this] { return wall_day_ * kMsPerDay + 7; },
                          .mono_ns = [this] { return mono_ns_; },
                          .on_removed = [this](int64_t day, int64_t reports) { removed_[day] += reports; }});
    ASSERT_TRUE(store_->SetMostBytes(most_bytes).ok());
  }

  void Fill(int64_t day, int count) {
    std::vector<std::string> reports;
    for (int i = 0; i < count; ++i) reports.push_back(testing::LargeReport(day * kMsPerDay + i, &random_));
    const auto result = ingest_.Submit(testing::EncodeBatch(reports), {.key = "key"});
    ASSERT_TRUE(result.ok()) << result.status().message();
    ASSERT_EQ(result->accepted, count) << result->records.front().why;
  }
  size_t KeptOf(int64_t day) { return store_->Reports({.first_day = day, .last_day = day}, 100'000)->size(); }
  uint64_t FileBytes() const {
    return std::filesystem::file_size(path_) + std::filesystem::file_size(path_ + "-wal");
  }

  testing::ScopedMemoryDirectory directory_;
  std::string path_ = directory_ / "collector.db";
  std::unique_ptr<SqliteStore> store_ = SqliteStore::Open(path_).value();
  Ingest ingest_{store_.get(), Clusterer::Create("").value(), nullptr, {}, {.traces_a_day = 100'000}};
  std::optional<StoreQuota> quota_;
  int64_t wall_day_ = kQuotaDay;
  int64_t mono_ns_ = 0;
  std::map<int64_t, int64_t> removed_;  // reports by day
  std::mt19937 random_{7};
};

TEST_F(StoreQuotaTest, TheOldestDaysGoAndIngestGoesOn) {
  constexpr uint64_t kMost = 8 * kQuotaMiB;
  constexpr int64_t kFirstDay = kQuotaDay - 23;
  Open(kMost);
  uint64_t largest_bytes = 0;
  // Three times of what there is room for.
  for (int64_t day = kFirstDay; day <= kQuotaDay; ++day) {
    wall_day_ = day;
    for (int i = 0; i < 4; ++i) {
      ASSERT_TRUE(quota_->Check().ok()) << quota_->Check().message();
      Fill(day, 25);
      if (quota_->IsDue()) {
        ASSERT_FALSE(quota_->Step().value());
      }
      largest_bytes = std::max(largest_bytes, FileBytes());
    }
  }
  EXPECT_LE(largest_bytes, kMost);
  EXPECT_FALSE(quota_->IsDue());
  EXPECT_GT(quota_->size().used_bytes, kMost / 2);
  // Whole days, the oldest first, and no more of them than there is need for.
  ASSERT_FALSE(removed_.empty());
  EXPECT_EQ(removed_.begin()->first, kFirstDay);
  const int64_t last = removed_.rbegin()->first;
  EXPECT_EQ(static_cast<int64_t>(removed_.size()), last - kFirstDay + 1);
  for (const auto& [day, reports] : removed_) EXPECT_EQ(reports, 100) << day;
  EXPECT_EQ(KeptOf(last), 0u);
  for (int64_t day = last + 1; day <= kQuotaDay; ++day) EXPECT_EQ(KeptOf(day), 100u) << day;
  // Sums are those of what is left.
  StepJob repair = CreateRepairJob(store_.get());
  while (repair.Step().value()) {
  }
  EXPECT_EQ(store_->Causes({})->all.sums.reports, (kQuotaDay - last) * 100);
}

TEST_F(StoreQuotaTest, NothingIsTakenWhenTheNewestDayAloneIsTooLarge) {
  Open(8 * kQuotaMiB);
  Fill(kQuotaDay, 10);
  base::Result<bool> held = false;
  for (int i = 0; i < 200 && held.ok(); ++i) {  // the log is cut before anything is said
    while (quota_->Check().ok()) Fill(kQuotaDay, 10);
    held = quota_->Step();
  }
  EXPECT_THAT(quota_->Check().message(), HasSubstr("of 8 MiB (--store-gib)"));
  const size_t reports = KeptOf(kQuotaDay);
  EXPECT_THAT(held.status().message(), HasSubstr("only the newest day's records are left"));
  EXPECT_TRUE(quota_->Step().ok());  // said once in an hour
  EXPECT_FALSE(quota_->IsDue());     // there is nothing to do
  mono_ns_ += 3601 * base::kNsPerSecond;
  EXPECT_FALSE(quota_->Step().ok());
  EXPECT_EQ(KeptOf(kQuotaDay), reports);
  EXPECT_LE(FileBytes(), 8 * kQuotaMiB);
  // A client whose clock is ahead does not make today an old day.
  Fill(kQuotaDay + 1, 1);
  mono_ns_ += 3601 * base::kNsPerSecond;
  EXPECT_FALSE(quota_->Step().ok());
  EXPECT_EQ(KeptOf(kQuotaDay), reports);
  // The next day there is something to remove.
  ++wall_day_;
  EXPECT_FALSE(quota_->Step().value());
  EXPECT_EQ(KeptOf(kQuotaDay), 0u);
  EXPECT_TRUE(quota_->Check().ok());
}

TEST_F(StoreQuotaTest, TracesAndUsageOfADayGoWithIt) {
  Open(8 * kQuotaMiB);
  std::string batch;
  constexpr int64_t kOldMs = (kQuotaDay - 3) * kMsPerDay + 5;
  report::TraceRecord trace = testing::TraceOf({}, testing::SampleTrace(), kOldMs);
  testing::AppendTrace(trace, &batch);
  const base::Uuid id = base::CreateUuidV7(kOldMs);
  report::AppendToBatch(
      {report::RecordType::kUsage, testing::EncodeUsage({.id = id,
                                                         .session_id = id,
                                                         .app = "editor",
                                                         .app_version = "1.0",
                                                         .begin_wall_ms = static_cast<uint64_t>(kOldMs),
                                                         .end_wall_ms = static_cast<uint64_t>(kOldMs + 1)})},
      &batch);
  ASSERT_EQ(ingest_.Submit(batch)->accepted, 2);
  EXPECT_EQ(store_->OldestDay().value(), kQuotaDay - 3);
  while (!quota_->IsDue()) Fill(kQuotaDay, 50);
  EXPECT_FALSE(quota_->Step().value());
  EXPECT_THAT(store_->ListTraces({}, 10, {}).value(), IsEmpty());
  EXPECT_EQ(store_->OldestDay().value(), kQuotaDay);
  EXPECT_EQ(removed_.size(), 1u);
}

// Pages that are free are used again: the file does not shrink for that, and need not.
TEST_F(StoreQuotaTest, ALowerLimitGivesSpaceBack) {
  for (int64_t day = kQuotaDay - 9; day <= kQuotaDay; ++day) Fill(day, 150);
  ASSERT_GT(FileBytes(), 15 * kQuotaMiB);
  Open(8 * kQuotaMiB);
  EXPECT_FALSE(quota_->Check().ok());
  while (quota_->Step().value()) {
  }
  while (store_->Compact().value()) {
  }
  EXPECT_TRUE(quota_->Check().ok());
  Fill(kQuotaDay, 1);
  ASSERT_TRUE(store_->TruncateLog().value());
  EXPECT_LE(FileBytes(), 8 * kQuotaMiB);
  EXPECT_EQ(KeptOf(kQuotaDay), 151u);
}

// A reader that takes long keeps the log from being written to the database.
TEST_F(StoreQuotaTest, ALogThatGrewIsCutWithoutRemovingRecords) {
  Open(16 * kQuotaMiB);
  Fill(kQuotaDay - 1, 50);
  {
    Database reader(path_);
    reader.Execute("BEGIN; SELECT count(*) FROM reports");
    for (int i = 0; i < 100 && quota_->Check().ok(); ++i) Fill(kQuotaDay, 10);
    reader.Execute("COMMIT");
  }
  ASSERT_FALSE(quota_->Check().ok());
  EXPECT_FALSE(quota_->Step().value());
  EXPECT_TRUE(quota_->Check().ok());
  EXPECT_EQ(quota_->size().log_bytes, 0u);
  EXPECT_THAT(removed_, IsEmpty());
  Fill(kQuotaDay, 10);  // and commits are durable as before
  EXPECT_EQ(SqliteStore::Open(path_)
                .value()
                ->Reports({.first_day = kQuotaDay - 1, .last_day = kQuotaDay - 1}, 100)
                ->size(),
            50u);
}

}  // namespace
}  // namespace lagwatch::collector
