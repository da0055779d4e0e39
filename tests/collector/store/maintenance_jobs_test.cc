// SPDX-License-Identifier: Apache-2.0
// Tests the jobs of maintenance on whole stores.
#include <gtest/gtest.h>

#include <filesystem>

#include "collector/maintenance/retention_job.h"
#include "tests/collector/memory_collector.h"
#include "tests/testing/temp_directory.h"

namespace lagwatch::collector {
namespace {

using testing::MemoryCollector;
using testing::SampleReport;

constexpr int64_t kToday = 20'000;

TEST(RetentionJob, KeepsWhatIsYoungEnough) {
  MemoryCollector collector;
  std::vector<SampleReport> reports(1200);
  for (size_t i = 0; i < reports.size(); ++i) {
    const auto day = kToday - static_cast<int64_t>(i % 4);
    reports[i].header.id = reports[i].header.hang_id = base::CreateUuidV7(day * kMsPerDay + 5);
  }
  collector.Submit(reports);
  RetentionJob all(collector.store.get(), 0, [] { return (kToday + 1000) * kMsPerDay; });
  EXPECT_FALSE(all.Step().value());
  RetentionJob job(collector.store.get(), 1, [] { return kToday * kMsPerDay + 7; });
  EXPECT_TRUE(job.Step().value());
  EXPECT_FALSE(job.Step().value());
  EXPECT_EQ(collector.store->Causes({})->all.sums.reports, 600);
  StepJob repair = CreateRepairJob(collector.store.get());
  while (repair.Step().value()) {
  }
  EXPECT_EQ(collector.store->Causes({})->causes.front().sums.reports, 600);
}

TEST(CompactJob, GivesTheSpaceOfRemovedReportsBack) {
  testing::ScopedTempDirectory directory;
  const std::string path = directory / "collector.db";
  auto store = std::move(SqliteStore::Open(path).value());
  Ingest ingest(store.get(), Clusterer::Create("").value());
  for (int batch = 0; batch < 15; ++batch) {
    std::vector<std::string> reports;
    for (int i = 0; i < 100; ++i)
      reports.push_back(SampleReport{.module_path = std::string(4000, 'm')}.Encode());
    ASSERT_EQ(ingest.Submit(testing::EncodeBatch(reports))->accepted, 100);
  }
  StepJob job = CreateCompactJob(store.get());
  EXPECT_FALSE(job.Step().value());
  ASSERT_EQ(store->RemoveBefore(100'000, 10'000).value(), 1500);
  int steps = 0;
  while (job.Step().value()) ++steps;
  EXPECT_GT(steps, 1);
  store.reset();  // its log becomes part of the file
  EXPECT_LT(std::filesystem::file_size(path), 3'000'000u);
}

}  // namespace
}  // namespace lagwatch::collector
