// SPDX-License-Identifier: Apache-2.0
#include "collector/store/clickhouse/insert/batch_spool.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "tests/testing/temp_directory.h"

namespace lagwatch::collector {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

class BatchSpoolTest : public ::testing::Test {
 protected:
  std::unique_ptr<BatchSpool> Open() { return BatchSpool::Open(&base::SystemEnv(), path_).value(); }
  static Batch BatchOf(const std::string& rows) { return {{{"reports (id)", rows}}, {"key of " + rows}}; }

  testing::ScopedTempDirectory directory_;
  const std::string path_ = directory_ / "spool";
};

TEST_F(BatchSpoolTest, GivesBackWhatWasAppendedInItsOrderAfterARestart) {
  const std::string rows(100'000, '\0');
  {
    auto spool = Open();
    ASSERT_TRUE(spool->Append(BatchOf("one")).ok());
    ASSERT_TRUE(spool->Append(BatchOf(rows)).ok());
    ASSERT_TRUE(spool->Append(BatchOf("three")).ok());
    ASSERT_TRUE(spool->RemoveFirst().ok());
  }
  auto spool = Open();
  ASSERT_EQ(spool->numbers().size(), 2u);
  const Batch batch = spool->Read(spool->numbers().front()).value();
  ASSERT_EQ(batch.parts.size(), 1u);
  EXPECT_EQ(batch.parts[0].target, "reports (id)");
  EXPECT_EQ(batch.parts[0].rows, rows);
  EXPECT_THAT(batch.keys, ElementsAre("key of " + rows));
  EXPECT_EQ(spool->Read(spool->numbers().back()).value().parts[0].rows, "three");
}

TEST_F(BatchSpoolTest, NumbersGoOnAfterARestart) {
  const uint64_t first = Open()->Append(BatchOf("one")).value();
  EXPECT_GT(Open()->Append(BatchOf("two")).value(), first);
}

TEST_F(BatchSpoolTest, ForgetsWhatACrashCutShort) {
  Open();
  std::ofstream(path_ + "/00000000000000000001.batch.new") << "half a ba";
  auto spool = Open();
  EXPECT_THAT(spool->numbers(), IsEmpty());
  EXPECT_TRUE(spool->Append(BatchOf("one")).ok());
}

TEST_F(BatchSpoolTest, TellsADamagedBatchAndSetsItAside) {
  Open()->Append(BatchOf("one")).value();
  Open()->Append(BatchOf("two")).value();
  std::fstream(path_ + "/00000000000000000001.batch", std::ios::in | std::ios::out).seekp(20).put('x');
  auto spool = Open();
  EXPECT_EQ(spool->Read(spool->numbers().front()).status().code(), base::StatusCode::kInternal);
  ASSERT_TRUE(spool->SetFirstAside().ok());
  EXPECT_TRUE(std::filesystem::exists(path_ + "/00000000000000000001.batch.damaged"));
  EXPECT_EQ(spool->Read(spool->numbers().front()).value().parts[0].rows, "two");
}

TEST_F(BatchSpoolTest, KnowsHowMuchItHas) {
  auto spool = Open();
  EXPECT_EQ(spool->size_bytes(), 0u);
  ASSERT_TRUE(spool->Append(BatchOf(std::string(1000, 'x'))).ok());
  const uint64_t size = spool->size_bytes();
  EXPECT_GT(size, 1000u);
  spool.reset();
  spool = Open();
  EXPECT_EQ(spool->size_bytes(), size);
  ASSERT_TRUE(spool->RemoveFirst().ok());
  EXPECT_EQ(spool->size_bytes(), 0u);
}

}  // namespace
}  // namespace lagwatch::collector
