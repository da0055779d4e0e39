// SPDX-License-Identifier: Apache-2.0
#include "collector/store/clickhouse/insert/refused_folder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "tests/testing/temp_directory.h"

namespace lagwatch::collector {
namespace {

using ::testing::IsEmpty;
using ::testing::SizeIs;

Batch RefusedBatchOf(const std::string& rows) { return {{{"`db`.reports_v1 (id)", rows}}, {}}; }

class RefusedFolderTest : public ::testing::Test {
 protected:
  // An operator's action.
  void MoveToResend(const std::string& path) const {
    std::filesystem::rename(path, spool_ + "/resend/" + std::filesystem::path(path).filename().string());
  }

  testing::ScopedTempDirectory directory_;
  const std::string spool_ = directory_ / "spool";
};

TEST_F(RefusedFolderTest, KeepsTheNewestWithinItsBounds) {
  const std::string rows(1000, 'x');
  std::vector<std::string> paths;
  {
    RefusedFolder folder(&base::SystemEnv(), spool_, 3500);
    for (int i = 0; i < 5; ++i) paths.push_back(folder.Add(RefusedBatchOf(rows)).value());
    const RefusedBatches state = folder.state();
    EXPECT_EQ(state.refused, 5u);
    EXPECT_EQ(state.dropped, 2u);
    EXPECT_EQ(state.kept, 3u);
    EXPECT_GT(state.kept_bytes, 3000u);
    EXPECT_LE(state.kept_bytes, 3500u);
  }
  EXPECT_FALSE(std::filesystem::exists(paths[1]));
  EXPECT_TRUE(std::filesystem::exists(paths[2]));
  // After a restart, too.
  RefusedFolder folder(&base::SystemEnv(), spool_, 3500, 2);
  EXPECT_EQ(folder.state().kept, 3u);
  EXPECT_GT(folder.Add(RefusedBatchOf("small")).value(), paths.back());
  EXPECT_EQ(folder.state().kept, 2u);
  EXPECT_TRUE(std::filesystem::exists(paths[4]));
}

TEST_F(RefusedFolderTest, FindsWhatWasMovedBack) {
  RefusedFolder folder(&base::SystemEnv(), spool_);
  const std::string path = folder.Add(RefusedBatchOf("rows")).value();
  folder.Add(RefusedBatchOf("others")).value();
  EXPECT_THAT(folder.FindResent(), IsEmpty());
  MoveToResend(path);
  folder.Refresh();
  EXPECT_EQ(folder.state().kept, 1u);
  ASSERT_THAT(folder.FindResent(), SizeIs(1));
  const std::string resent = folder.FindResent()[0];
  EXPECT_EQ(folder.ReadResent(resent).value().parts[0].rows, "rows");
  EXPECT_TRUE(folder.RemoveResent(resent).ok());
  EXPECT_THAT(folder.FindResent(), IsEmpty());
}

TEST_F(RefusedFolderTest, ADamagedFileIsLookedAtOnce) {
  RefusedFolder folder(&base::SystemEnv(), spool_);
  const std::string resent = spool_ + "/resend/1.batch";
  std::ofstream(resent) << "something else";
  EXPECT_EQ(folder.ReadResent(resent).status().code(), base::StatusCode::kInternal);
  folder.SetDamagedAside(resent);
  EXPECT_THAT(folder.FindResent(), IsEmpty());
}

}  // namespace
}  // namespace lagwatch::collector
