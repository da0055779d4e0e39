// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "collector/commands/commands.h"
#include "collector/ingest/ingest.h"
#include "collector/store/sqlite/sqlite_store.h"
#include "tests/testing/process.h"
#include "tests/testing/sample_report.h"
#include "tests/testing/temp_directory.h"

namespace lagwatch::collector {
namespace {

using base::StatusCode;
using ::testing::HasSubstr;
using testing::SampleReport;
namespace fs = std::filesystem;

class BackupTest : public ::testing::Test {
 protected:
  BackupTest() { fs::create_directories(data_ + "/symbols/ab"); }

  void Submit(Store* store, int count) {
    Ingest ingest(store, Clusterer::Create("").value());
    std::vector<std::string> reports;
    for (int i = 0; i < count; ++i) reports.push_back(SampleReport().Encode());
    ASSERT_EQ(ingest.Submit(testing::EncodeBatch(reports))->accepted, count);
  }
  int64_t ReportsIn(const std::string& data) {
    auto store = SqliteStore::Open(data + "/collector.db");
    return store.ok() ? (*store)->Causes({})->all.sums.reports : -1;
  }
  void Write(const std::string& name, const std::string& text) { std::ofstream(data_ + "/" + name) << text; }
  std::string Read(const std::string& path) {
    std::ostringstream text;
    text << std::ifstream(path).rdbuf();
    return text.str();
  }

  testing::ScopedTempDirectory directory_;
  std::string data_ = directory_ / "data";
  std::string backup_ = directory_ / "backup";
  std::string restored_ = directory_ / "restored";
};

TEST_F(BackupTest, AllThatIsInUseComesBack) {
  auto store = std::move(SqliteStore::Open(data_ + "/collector.db").value());
  Submit(store.get(), 100);
  Write("keys.json", "{}");
  Write("keys.json.lock", "");
  Write("symbols/ab/cd.debug", "ELF");
  ASSERT_TRUE(BackUp(data_, backup_, {}).ok());
  Submit(store.get(), 50);  // it goes on
  ASSERT_TRUE(Restore(backup_, restored_).ok());
  EXPECT_EQ(ReportsIn(restored_), 100);
  EXPECT_EQ(ReportsIn(data_), 150);
  EXPECT_EQ(Read(restored_ + "/keys.json"), "{}");
  EXPECT_EQ(Read(restored_ + "/symbols/ab/cd.debug"), "ELF");
  EXPECT_FALSE(fs::exists(backup_ + "/keys.json.lock"));
}

TEST_F(BackupTest, WithoutADatabaseTheRestIsCopied) {
  Write("keys.json", "{}");
  ASSERT_TRUE(BackUp(data_, backup_, {}).ok());
  ASSERT_TRUE(Restore(backup_, restored_).ok());
  EXPECT_EQ(Read(restored_ + "/keys.json"), "{}");
}

TEST_F(BackupTest, SymbolsMayBeLeftOut) {
  Submit(SqliteStore::Open(data_ + "/collector.db").value().get(), 1);
  Write("symbols/ab/cd.debug", "ELF");
  ASSERT_TRUE(BackUp(data_, backup_, {.has_symbols = false}).ok());
  EXPECT_FALSE(fs::exists(backup_ + "/symbols"));
}

TEST_F(BackupTest, NothingIsOverwritten) {
  Submit(SqliteStore::Open(data_ + "/collector.db").value().get(), 1);
  ASSERT_TRUE(BackUp(data_, backup_, {}).ok());
  EXPECT_EQ(BackUp(data_, backup_, {}).code(), StatusCode::kInvalid);
  EXPECT_EQ(Restore(backup_, data_).code(), StatusCode::kInvalid);
  EXPECT_EQ(BackUp(directory_ / "nothing", directory_ / "other", {}).code(), StatusCode::kInvalid);
  EXPECT_FALSE(fs::exists(directory_ / "other"));
}

TEST_F(BackupTest, ADamagedBackupIsNotBroughtBack) {
  Submit(SqliteStore::Open(data_ + "/collector.db").value().get(), 200);
  ASSERT_TRUE(BackUp(data_, backup_, {}).ok());
  std::fstream file(backup_ + "/collector.db", std::ios::in | std::ios::out | std::ios::binary);
  file.seekp(20'000);
  file << std::string(40'000, '\x55');
  file.close();
  const base::Status status = Restore(backup_, restored_);
  EXPECT_FALSE(status.ok());
  EXPECT_THAT(status.message(), HasSubstr("collector.db"));
  EXPECT_FALSE(fs::exists(restored_ + "/collector.db"));
}

TEST_F(BackupTest, TheProgramDoesIt) {
  Submit(SqliteStore::Open(data_ + "/collector.db").value().get(), 3);
  testing::Process backup({LAGWATCH_COLLECTOR_PROGRAM, "backup", backup_, "--data", data_});
  EXPECT_EQ(backup.Wait(), 0) << backup.Errors();
  testing::Process restore({LAGWATCH_COLLECTOR_PROGRAM, "restore", backup_, "--data", restored_});
  EXPECT_EQ(restore.Wait(), 0) << restore.Errors();
  EXPECT_EQ(ReportsIn(restored_), 3);
  testing::Process again({LAGWATCH_COLLECTOR_PROGRAM, "restore", backup_, "--data", restored_});
  EXPECT_EQ(again.Wait(), 1);
  EXPECT_THAT(again.Errors(), HasSubstr("is a collector's data directory already"));
}

}  // namespace
}  // namespace lagwatch::collector
