// SPDX-License-Identifier: Apache-2.0
// Rows that a real server refuses permanently, and those that it accepts once the cause is mended.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <mutex>

#include "collector/store/clickhouse/clickhouse_store.h"
#include "tests/collector/clickhouse/test_cluster.h"
#include "tests/testing/process.h"
#include "tests/testing/sample_report.h"
#include "tests/testing/temp_directory.h"

namespace lagwatch::collector {
namespace {

using ::testing::AllOf;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::SampleReport;

SampleReport SampleOfUser(const char* user) {
  SampleReport sample;
  sample.header.user = user;
  return sample;
}

NewReport RecordOf(const SampleReport& sample) {
  const std::string payload = sample.Encode();
  const report::Report decoded = report::DecodeReport(payload).value();
  return NewReport::Create(decoded, Clusterer::Create("")->Assign(decoded), payload);
}

class Refused : public ::testing::Test {
 protected:
  void AtAllShards(const std::string& sql) {
    for (size_t node = 0; node < connection_.node_count(); node += 2) connection_.ExecuteAt(node, sql);
  }
  // The tables of this collector's version, and users that are to be numbers.
  void RefuseUsersWithoutNumber() {
    AtAllShards("ALTER TABLE " + schema_.OfShard(kReports) +
                " ADD COLUMN number Int64 DEFAULT toInt64(user)");
    ASSERT_TRUE(testing::WaitUntil([&] { return Columns("reports_v2", "number") == 4; }, 30));
  }
  void Mend() {
    AtAllShards("ALTER TABLE " + schema_.OfShard(kReports) + " DROP COLUMN number");
    ASSERT_TRUE(testing::WaitUntil([&] { return Columns("reports_v2", "number") == 0; }, 30));
  }
  // At so many nodes the table has that column.
  int64_t Columns(const std::string& table, const std::string& column) {
    int64_t count = 0;
    for (size_t node = 0; node < connection_.node_count(); ++node) {
      connection_.SelectAt(
          node,
          "SELECT toInt64(count()) FROM system.columns WHERE database = " + SqlText(schema_.database()) +
              " AND table = " + SqlText(table) + " AND name = " + SqlText(column),
          "i", [&](const Row& row) { count += row.Int(0); });
    }
    return count;
  }
  void ResendAll() {
    for (const auto& file : std::filesystem::directory_iterator(spool_ + "/refused"))
      std::filesystem::rename(file.path(), spool_ + "/resend/" + file.path().filename().string());
  }
  bool Has(const SampleReport& sample) { return store_->FindReport(sample.header.id)->has_value(); }
  int64_t SummedReports() {
    EXPECT_TRUE(store_->SumUpForTest().ok());
    return store_->Causes({})->all.sums.reports;
  }
  void Log(const std::string& line) {
    std::lock_guard lock(log_mutex_);
    log_.push_back(line);
  }
  std::vector<std::string> log() {
    std::lock_guard lock(log_mutex_);
    return log_;
  }
  std::mutex log_mutex_;
  std::vector<std::string> log_;  // guarded by log_mutex_
  testing::ScopedTempDirectory directory_;
  testing::OwnDatabase database_;
  const ClickHouseUrl url_ = ClickHouseUrl::Parse(database_.Url()).value();
  const Schema schema_{url_};
  Connection connection_{url_};
  const std::string spool_ = directory_ / "spool";
  std::unique_ptr<ClickHouseStore> store_ =
      std::move(ClickHouseStore::Open(database_.Url(), spool_, [this](const std::string& line) {
        Log(line);
      })).value();
};

TEST_F(Refused, ARecordThatPoisonsItsBatchIsSetAsideAloneAndComesBack) {
  RefuseUsersWithoutNumber();
  const SampleReport bad = SampleOfUser("jane"), later = SampleOfUser("77");
  std::vector<SampleReport> good;
  std::vector<NewRecord> records = {RecordOf(bad), report::HangEnd{bad.header.id, 9'000'000'000}};
  for (int i = 0; i < 9; ++i) {
    good.push_back(SampleOfUser("12"));
    records.push_back(RecordOf(good.back()));
  }
  EXPECT_THAT(*store_->Commit(records), Each(CommitOutcome::kStored));
  EXPECT_THAT(*store_->Commit(std::vector<NewRecord>{RecordOf(later)}), Each(CommitOutcome::kStored));
  ASSERT_TRUE(testing::WaitUntil([&] { return Has(later); }, 30));
  for (const SampleReport& each : good) EXPECT_TRUE(Has(each));
  EXPECT_FALSE(Has(bad));
  EXPECT_EQ(SummedReports(), 10);
  EXPECT_EQ(store_->Refused().refused, 1u);
  EXPECT_EQ(store_->Refused().kept, 1u);
  EXPECT_THAT(log(), ElementsAre(AllOf(HasSubstr("refused 1 rows for good"), HasSubstr(spool_ + "/refused/"),
                                       HasSubstr("Code: 6"))));

  // As long as the cause is there, it is set aside again.
  ResendAll();
  ASSERT_TRUE(testing::WaitUntil([&] { return store_->Refused().refused == 2; }, 30));
  EXPECT_FALSE(Has(bad));
  Mend();
  ResendAll();
  ASSERT_TRUE(testing::WaitUntil([&] { return Has(bad); }, 30));
  EXPECT_EQ(SummedReports(), 11);
  EXPECT_EQ(store_->FindReport(bad.header.id).value()->row.duration_ns, 9'000'000'000);
  ASSERT_TRUE(testing::WaitUntil([&] { return store_->Refused().kept == 0; }, 30));
}

TEST_F(Refused, AMissingColumnHoldsUpNoOtherTable) {
  AtAllShards("ALTER TABLE " + schema_.OfShard(kLosses) + " DROP COLUMN reason");
  ASSERT_TRUE(testing::WaitUntil([&] { return Columns("losses_v1", "reason") == 0; }, 30));
  const SampleReport sample = SampleOfUser("jane"), later = SampleOfUser("john");
  const report::Losses losses{.id = sample.header.id, .app = "editor", .losses = {{.count = 3}}};
  ASSERT_TRUE(store_->Commit(std::vector<NewRecord>{RecordOf(sample), losses}).ok());
  ASSERT_TRUE(store_->Commit(std::vector<NewRecord>{RecordOf(later)}).ok());
  ASSERT_TRUE(testing::WaitUntil([&] { return Has(later); }, 30));
  EXPECT_TRUE(Has(sample));
  EXPECT_EQ(store_->Refused().kept, 1u);

  AtAllShards("ALTER TABLE " + schema_.OfShard(kLosses) + " ADD COLUMN reason String AFTER user");
  ASSERT_TRUE(testing::WaitUntil([&] { return Columns("losses_v1", "reason") == 4; }, 30));
  ResendAll();
  ASSERT_TRUE(testing::WaitUntil(
      [&] {
        const auto rows = store_->Losses({});
        return rows.ok() && rows->size() == 1 && rows->at(0).count == 3;
      },
      30));
  EXPECT_EQ(SummedReports(), 2);
}

// An error that is not the rows' fault is retried for as long as it takes.
TEST_F(Refused, AMissingTableIsWaitedFor) {
  AtAllShards("DROP TABLE " + schema_.OfShard(kReports));
  ASSERT_TRUE(testing::WaitUntil([&] { return Columns("reports_v2", "id") == 2; }, 30));
  for (size_t node = 1; node < connection_.node_count(); node += 2)
    connection_.ExecuteAt(node, "DROP TABLE " + schema_.OfShard(kReports));
  const SampleReport sample = SampleOfUser("jane");
  ASSERT_TRUE(store_->Commit(std::vector<NewRecord>{RecordOf(sample)}).ok());
  std::this_thread::sleep_for(std::chrono::seconds(3));
  EXPECT_EQ(store_->Refused().refused, 0u);
  auto mended = ClickHouseStore::Open(database_.Url(), directory_ / "other");  // makes the table
  ASSERT_TRUE(mended.ok()) << mended.status().message();
  EXPECT_TRUE(testing::WaitUntil([&] { return Has(sample); }, 30));
}

}  // namespace
}  // namespace lagwatch::collector
