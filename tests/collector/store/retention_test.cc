// SPDX-License-Identifier: Apache-2.0
// Removes what goes with old reports.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "collector/maintenance/retention_job.h"
#include "collector/store/loss_weights.h"
#include "collector/store/sqlite/schema.h"
#include "tests/collector/memory_collector.h"
#include "tests/collector/store/older_database.h"
#include "tests/testing/temp_directory.h"

namespace lagwatch::collector {
namespace {

using testing::EncodeBatch;
using ::testing::IsEmpty;
using testing::MemoryCollector;
using testing::SampleReport;
using ::testing::SizeIs;

constexpr int64_t kLastDay = 20'000;

// Borrows `version`.
SampleReport ReportOfDay(int64_t day, const std::string& leaf = "Leaf", std::string_view version = "1.0") {
  SampleReport report;
  report.header.id = report.header.hang_id = base::CreateUuidV7(day * kMsPerDay + 5);
  report.header.start_wall_ms = static_cast<uint64_t>(day * kMsPerDay + 5);
  report.header.elapsed_ns = 1'000'000'000;
  report.header.app_version = version;
  report.stack = {leaf, leaf + "Caller", "Loop", "main"};
  return report;
}

std::string EncodedOfCause(const SampleReport& report, uint64_t cause) {
  std::string encoded = report.Encode();
  report::AppendCause(cause, &encoded);
  return encoded;
}

std::string BatchOfLosses(const report::Losses& losses) {
  std::string batch;
  report::AppendToBatch({report::RecordType::kLosses, report::EncodeLosses(losses)}, &batch);
  return batch;
}

report::Losses LossesOfDay(int64_t day, std::vector<report::Loss> losses) {
  return {.id = base::CreateUuidV7(day * kMsPerDay),
          .app = "editor",
          .app_version = "1.0",
          .begin_wall_ms = static_cast<uint64_t>(day * kMsPerDay),
          .end_wall_ms = static_cast<uint64_t>(day * kMsPerDay),
          .losses = std::move(losses)};
}

void RemoveUnused(Store* store) {
  while (store->RemoveUnused(2).value()) {
  }
}

TEST(Retention, LossesGoWithTheirDayAndOutOfTheEstimates) {
  MemoryCollector collector;
  std::string batch = EncodeBatch({EncodedOfCause(ReportOfDay(kLastDay), 2)});
  using report::LossReason;
  batch += BatchOfLosses(LossesOfDay(
      kLastDay - 5, {{LossReason::kCauseIsFull, 2, 10, 300'000}, {LossReason::kRefused, 0, 7, 0}}));
  batch += BatchOfLosses(LossesOfDay(kLastDay, {{LossReason::kCauseIsFull, 2, 3, 0}}));
  ASSERT_TRUE(collector.ingest.Submit(batch).ok());
  ASSERT_GT(collector.Get("/v1/clusters")[0]["estimated"]["hangs"], 30.0);
  ASSERT_THAT(collector.Get("/v1/losses"), SizeIs(2));

  ASSERT_TRUE(collector.store->RemoveBefore(kLastDay, 10).ok());
  EXPECT_EQ(collector.Get("/v1/clusters")[0]["estimated"]["hangs"], 4.0);
  ASSERT_THAT(collector.Get("/v1/losses"), SizeIs(1));
  EXPECT_EQ(collector.Get("/v1/losses")[0]["reports"], 3);

  ASSERT_TRUE(collector.store->RemoveBefore(kLastDay + 1, 0).ok());
  ASSERT_TRUE(collector.ingest.Submit(BatchOfLosses(LossesOfDay(kLastDay + 1, {}))).ok());
}

TEST(Retention, ACauseWithoutLossesAnyMoreIsNotEstimatedByThem) {
  MemoryCollector collector;
  ASSERT_TRUE(collector.ingest.Submit(EncodeBatch({EncodedOfCause(ReportOfDay(kLastDay), 2)})).ok());
  ASSERT_TRUE(
      collector.ingest
          .Submit(BatchOfLosses(LossesOfDay(kLastDay - 5, {{report::LossReason::kCauseIsFull, 2, 10, 0}})))
          .ok());
  ASSERT_EQ(collector.Get("/v1/clusters")[0]["estimated"]["hangs"], 11.0);
  ASSERT_TRUE(collector.store->RemoveBefore(kLastDay, 10).ok());
  EXPECT_EQ(collector.Get("/v1/clusters")[0]["estimated"]["hangs"], 1.0);
  EXPECT_THAT(collector.Get("/v1/losses"), IsEmpty());
}

// One record of 2^63 losses at 1 ppm must not decide which cause costs most for ever.
TEST(Retention, AMadeUpLossCountsForSoManyOfThoseThatCame) {
  MemoryCollector collector;
  ASSERT_TRUE(collector.ingest.Submit(EncodeBatch({EncodedOfCause(ReportOfDay(kLastDay), 2)})).ok());
  ASSERT_TRUE(collector.ingest
                  .Submit(BatchOfLosses(
                      LossesOfDay(kLastDay, {{report::LossReason::kCauseIsFull, 2, uint64_t{1} << 63, 1}})))
                  .ok());
  const Json cluster = collector.Get("/v1/clusters")[0];
  EXPECT_EQ(cluster["estimated"]["hangs"], 1 + kMostLostPerReport);
  EXPECT_EQ(cluster["hang_ms"], 1000);
  const Json loss = collector.Get("/v1/losses")[0];
  EXPECT_EQ(loss["reports"], kMostLostAtOnce);
  EXPECT_EQ(loss["estimated"]["reports"], static_cast<double>(kMostLostAtOnce) * kMostWeight);
}

TEST(Retention, AReportStandsForSoManyUsersAtMost) {
  MemoryCollector collector;
  std::string encoded = ReportOfDay(kLastDay).Encode();
  report::AppendSampleRate(report::RecordType::kReport, 1, &encoded);
  ASSERT_TRUE(collector.ingest.Submit(EncodeBatch({encoded})).ok());
  EXPECT_EQ(collector.Get("/v1/clusters")[0]["estimated"]["hangs"], kMostWeight);
}

TEST(Retention, NamesGoWithTheLastReportThatHasThem) {
  testing::ScopedTempDirectory directory;
  const std::string path = directory / "collector.db";
  auto store = std::move(SqliteStore::Open(path).value());
  Ingest ingest(store.get(), Clusterer::Create("").value());
  std::vector<std::string> reports;
  for (int i = 0; i < 7; ++i) {
    const std::string n = std::to_string(i);
    reports.push_back(EncodedOfCause(ReportOfDay(kLastDay - 5, "Old" + n, "0." + n), 5));
  }
  reports.push_back(EncodedOfCause(ReportOfDay(kLastDay, "Young"), 5));
  ASSERT_EQ(ingest.Submit(EncodeBatch(reports))->accepted, 8);
  const auto count = [&](const char* table) {
    Database database(path);
    Statement row = database.Use(table);
    return row.Step() ? row.Int(0) : -1;
  };
  constexpr char kSegments[] = "SELECT count(*) FROM segments";
  constexpr char kClusters[] = "SELECT count(*) FROM clusters";
  constexpr char kShares[] = "SELECT count(*) FROM cause_reports";
  ASSERT_EQ(count(kSegments), 8);
  ASSERT_EQ(count(kClusters), 16);
  // Annotated clusters stay.
  const std::string noted = store->Reports({.version = "0.3"}, 1)->front().level1_key;
  ASSERT_TRUE(store->PutNote({.key = noted, .title = "known"}).ok());

  RemoveUnused(store.get());  // of the start: nothing is unused
  ASSERT_EQ(count(kClusters), 16);
  ASSERT_EQ(store->RemoveBefore(kLastDay, 100).value(), 7);
  RemoveUnused(store.get());
  while (store->RepairSums(10).value() != 0) {
  }
  EXPECT_EQ(count(kSegments), 1);
  EXPECT_EQ(count(kClusters), 3);
  EXPECT_EQ(count(kShares), 1 + 2);  // of all, and of each cluster with reports
  EXPECT_TRUE(store->FindCluster(noted)->has_value());
  // Removed rows are there again with the next report.
  ASSERT_EQ(ingest.Submit(EncodeBatch(reports))->accepted, 7);
  EXPECT_EQ(count(kSegments), 8);
  EXPECT_EQ(store->Causes({})->causes.size(), 8u);
  EXPECT_EQ(store->Causes({.filter = {.version = "0.1"}})->causes.size(), 1u);
}

TEST(Retention, ADatabaseOfVersion8ForgetsMadeUpLosses) {
  testing::ScopedTempDirectory directory;
  const std::string path = directory / "collector.db";
  {
    auto store = std::move(SqliteStore::Open(path).value());
    Ingest ingest(store.get(), Clusterer::Create("").value());
    ASSERT_TRUE(ingest.Submit(EncodeBatch({EncodedOfCause(ReportOfDay(kLastDay), 2)})).ok());
    ASSERT_TRUE(ingest
                    .Submit(BatchOfLosses(
                        LossesOfDay(kLastDay, {{report::LossReason::kCauseIsFull, 2, uint64_t{1} << 63, 1}})))
                    .ok());
  }
  Database(path).Execute(testing::kWithoutOwnClusters);
  Database(path).Execute(testing::kWithoutSenders);
  Database(path).Execute(
      "UPDATE loss_sums SET reports = 9e18, weighted_reports = 9e24;"
      "UPDATE cause_reports SET lost_reports = 9e24;"
      "UPDATE cluster_sums SET lost_reports = 9e24, estimated_hang_ns = 9e33 WHERE segment = 0 AND day = 0;"
      "PRAGMA user_version = 8");
  auto store = SqliteStore::Open(path);
  ASSERT_TRUE(store.ok()) << store.status().message();
  EXPECT_EQ((*store)->Causes({})->causes[0].estimated_hangs, 1 + kMostLostPerReport);
  EXPECT_EQ((*store)->Losses({})->front().count, kMostLostAtOnce);
}

}  // namespace
}  // namespace lagwatch::collector
