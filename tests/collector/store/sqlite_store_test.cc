// SPDX-License-Identifier: Apache-2.0
// A store's handling of its file.
#include "collector/store/sqlite/sqlite_store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sqlite3.h>

#include <fstream>

#include "collector/store/sqlite/schema.h"
#include "tests/collector/memory_collector.h"
#include "tests/collector/store/older_database.h"
#include "tests/collector/store/older_schemas.h"
#include "tests/testing/temp_directory.h"

namespace lagwatch::collector {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::SampleReport;

class StoreFile : public ::testing::Test {
 protected:
  testing::ScopedTempDirectory directory_;
  std::string path_ = directory_ / "collector.db";
};

// As lagwatch made it when `version` was its newest, with one report of a hang.
void MakeDatabaseOf(int version, const std::string& path, const base::Uuid& report_id) {
  constexpr const char* kAddedBy[] = {kSchemaOfReports, kSchemaOfRunEnds, kSchemaOfFrameSlices,
                                      kSchemaOfUsage, kSchemaOfSampling};
  Database database(path);
  for (int added = 1; added <= version; ++added) database.Execute(kAddedBy[added - 1]);
  if (version == 5) database.Execute(kSchemaOfUnknownRecords);
  database.Execute(
      "INSERT INTO clusters VALUES ('c', 1, NULL, '[]', '');"
      "INSERT INTO reports (id, lag_id, session_id, ordinal, app, version, user, kind, loop, tag, os, "
      "machine, pid,"
      " tid, threshold_ms, start_wall_ms, elapsed_ns, cpu_window_ns, cpu_thread_ns, cpu_process_ns, level1, "
      "level2,"
      " payload) VALUES (x'', x'', x'', 0, '', '', '', 'lag', '', '', '', '', 0, 0, 0, 0, 0, 0, 0, 0, 'c', "
      "'c', x'');");
  database.Use("UPDATE reports SET id = ?1, lag_id = ?1").Bind(Blob{report_id.as_bytes()}).Run();
  database.Execute(("PRAGMA user_version = " + std::to_string(version)).c_str());
}

TEST_F(StoreFile, ADatabaseOfEachOlderVersionLearnsWhatIsNew) {
  const SampleReport report;
  for (int version = 1; version <= 5; ++version) {
    std::filesystem::remove(path_);
    MakeDatabaseOf(version, path_, report.header.id);
    auto store = SqliteStore::Open(path_);
    ASSERT_TRUE(store.ok()) << store.status().message();
    const std::vector<NewRecord> records = {report::RunEnd{.session_id = report.header.session_id,
                                                           .reason = policies::ExitReason::kKilledInHang,
                                                           .report_id = report.header.id},
                                            report::FrameSlice(),
                                            NewUsage(),
                                            report::Losses{.losses = {{.count = 1}}},
                                            NewTrace(),
                                            report::OwnedRecord{static_cast<report::RecordType>(77), "new"}};
    EXPECT_THAT(*(*store)->Commit(records), ::testing::Each(CommitOutcome::kStored)) << version;
    EXPECT_EQ((*store)->FindReport(report.header.id)->value().row.kind, "killed-in-hang");
  }
}

TEST_F(StoreFile, ADatabaseOfVersion6IsAskedLikeANewOne) {
  {
    Database database(path_);
    database.Execute(kSchema);
    database.Execute("PRAGMA user_version = 6");
  }
  auto store = SqliteStore::Open(path_);
  ASSERT_TRUE(store.ok()) << store.status().message();
  const std::string payload = SampleReport().Encode();
  const report::Report decoded = report::DecodeReport(payload).value();
  const std::vector<NewRecord> reports = {
      NewReport::Create(decoded, Clusterer::Create("")->Assign(decoded), payload)};
  ASSERT_TRUE((*store)->Commit(reports).ok());
  auto page = (*store)->Causes({.filter = {.app = "editor"}});
  ASSERT_TRUE(page.ok()) << page.status().message();
  EXPECT_EQ(page->causes.size(), 1u);
}

TEST_F(StoreFile, ATableOfReportsGetsTheColumnsThatItLacks) {
  SampleReport report;
  const std::string payload = report.Encode();
  const report::Report decoded = report::DecodeReport(payload).value();
  const std::vector<NewRecord> records = {
      NewReport::Create(decoded, Clusterer::Create("")->Assign(decoded), payload)};
  ASSERT_TRUE(SqliteStore::Open(path_).value()->Commit(records).ok());
  Database(path_).Execute(
      "ALTER TABLE reports DROP COLUMN machine; ALTER TABLE reports DROP COLUMN threshold_ms");

  auto store = SqliteStore::Open(path_);
  ASSERT_TRUE(store.ok()) << store.status().message();
  const auto row = (*store)->FindReport(report.header.id)->value().row;
  EXPECT_EQ(row.machine, "");
  EXPECT_EQ(row.threshold_ms, 0);
  EXPECT_EQ(row.elapsed_ns, decoded.elapsed_ns);
}

TEST_F(StoreFile, ADatabaseOfVersion9LearnsWhichKeyBringsARecord) {
  const auto reports_of = [](const SampleReport& report, const std::string& sender) {
    const std::string payload = report.Encode();
    const report::Report decoded = report::DecodeReport(payload).value();
    std::vector<NewRecord> records = {
        NewReport::Create(decoded, Clusterer::Create("")->Assign(decoded), payload)};
    records[0].sender = sender;
    return records;
  };
  const SampleReport before, after;
  ASSERT_TRUE(SqliteStore::Open(path_).value()->Commit(reports_of(before, "leaked")).ok());
  Database(path_).Execute(testing::kWithoutOwnClusters);
  Database(path_).Execute(testing::kWithoutSenders);

  auto store = SqliteStore::Open(path_);
  ASSERT_TRUE(store.ok()) << store.status().message();
  ASSERT_TRUE((*store)->Commit(reports_of(after, "leaked")).ok());
  RemovalProgress progress;
  const Removal removal{.by = Removal::By::kKey, .subject = "leaked"};
  while ((*store)->Remove(removal, 10, &progress).value()) {
  }
  EXPECT_EQ(progress.reports, 1);
  EXPECT_TRUE((*store)->FindReport(before.header.id)->has_value());
  EXPECT_FALSE((*store)->FindReport(after.header.id)->has_value());
}

TEST_F(StoreFile, ADatabaseOfVersion10CountsItsHangsOnce) {
  SampleReport first, second;
  second.stack = {"Other", "main"};
  second.header.hang_id = first.header.id;
  second.header.ordinal = 1;
  std::vector<NewRecord> reports;
  for (const SampleReport& report : {first, second}) {
    const std::string payload = report.Encode();
    const report::Report decoded = report::DecodeReport(payload).value();
    reports.emplace_back(NewReport::Create(decoded, Clusterer::Create("")->Assign(decoded), payload));
  }
  ASSERT_TRUE(SqliteStore::Open(path_).value()->Commit(reports).ok());
  Database(path_).Execute("UPDATE reports SET level1 = ifnull(own1, level1), level2 = ifnull(own2, level2)");
  Database(path_).Execute(testing::kWithoutOwnClusters);

  auto store = SqliteStore::Open(path_);
  ASSERT_TRUE(store.ok()) << store.status().message();
  while ((*store)->RepairSums(10).value() > 0) continue;
  const CausePage page = (*store)->Causes({}).value();
  ASSERT_EQ(page.causes.size(), 1u);
  for (const CauseRow& row : {page.causes.front(), page.all}) {
    EXPECT_EQ(row.sums.hangs, 1);
    EXPECT_EQ(row.sums.reports, 2);
  }
}

TEST_F(StoreFile, AHangOfVeryManyReportsIsOfOneCause) {
  constexpr int kReports = 300;
  auto store = SqliteStore::Open(path_);
  std::vector<NewRecord> records;
  SampleReport first;
  for (int i = 0; i < kReports; ++i) {
    SampleReport report;
    report.header.hang_id = first.header.id;
    if (i == 0) report.header.id = first.header.id;
    report.header.ordinal = static_cast<uint32_t>(i);
    report.header.elapsed_ns = static_cast<uint64_t>(i + 1);
    report.stack = {"Leaf" + std::to_string(i % 7), "main"};
    const std::string payload = report.Encode();
    const report::Report decoded = report::DecodeReport(payload).value();
    records.emplace_back(NewReport::Create(decoded, Clusterer::Create("")->Assign(decoded), payload));
  }
  ASSERT_TRUE((*store)->Commit(records).ok());
  EXPECT_EQ((*store)->Causes({})->causes.size(), 1u);
  // The last part is the longest now.
  ASSERT_TRUE((*store)->Commit(std::vector<NewRecord>{report::HangEnd{first.header.id, 1'000'000}}).ok());
  const CausePage page = (*store)->Causes({}).value();
  ASSERT_EQ(page.causes.size(), 1u);
  EXPECT_EQ(page.causes.front().sums.reports, kReports);
  EXPECT_EQ(page.causes.front().sums.hangs, 1);
}

TEST_F(StoreFile, ADatabaseOfVersion7KeepsItsReportsAndTakesTraces) {
  const SampleReport report;
  const std::string payload = report.Encode();
  const report::Report decoded = report::DecodeReport(payload).value();
  const std::vector<NewRecord> reports = {
      NewReport::Create(decoded, Clusterer::Create("")->Assign(decoded), payload)};
  ASSERT_TRUE(SqliteStore::Open(path_).value()->Commit(reports).ok());
  Database(path_).Execute(testing::kWithoutOwnClusters);
  Database(path_).Execute(testing::kWithoutSenders);
  Database(path_).Execute("DROP TABLE packed_traces; DROP TABLE traces; PRAGMA user_version = 7");

  auto store = SqliteStore::Open(path_);
  ASSERT_TRUE(store.ok()) << store.status().message();
  EXPECT_THAT(*(*store)->Commit(reports), ElementsAre(CommitOutcome::kDuplicate));
  const report::TraceRecord trace{.id = base::CreateUuidV7(1), .report_id = report.header.id, .trace = "t"};
  EXPECT_THAT(*(*store)->Commit(std::vector<NewRecord>{NewTrace::Create(trace)}),
              ElementsAre(CommitOutcome::kStored));
  EXPECT_EQ((*store)->TracesOf(std::vector{report.header.id})->size(), 1u);
  EXPECT_EQ((*store)->FindTrace(trace.id)->value().trace, "t");
}

TEST_F(StoreFile, KeepsReportsAcrossRestarts) {
  SampleReport report;
  std::string payload = report.Encode();
  report::Report decoded = report::DecodeReport(payload).value();
  ClusterPath clusters = Clusterer::Create("")->Assign(decoded);
  const std::vector<NewRecord> reports = {NewReport::Create(decoded, clusters, payload)};
  EXPECT_THAT(*SqliteStore::Open(path_).value()->Commit(reports), ElementsAre(CommitOutcome::kStored));

  auto store = SqliteStore::Open(path_);
  ASSERT_TRUE(store.ok());
  EXPECT_THAT(*store.value()->Commit(reports), ElementsAre(CommitOutcome::kDuplicate));
  auto found = store.value()->FindReport(report.header.id);
  ASSERT_TRUE(found->has_value());
  EXPECT_EQ(found->value().payload, payload);
  EXPECT_EQ(found->value().row.app, "editor");
  EXPECT_EQ(store.value()->FindCluster(clusters[1].key)->value().parent_key, clusters[0].key);
}

TEST_F(StoreFile, RefusesADatabaseOfANewerLagwatch) {
  ASSERT_TRUE(SqliteStore::Open(path_).ok());
  sqlite3* connection = nullptr;
  ASSERT_EQ(sqlite3_open(path_.c_str(), &connection), SQLITE_OK);
  std::string newer = "PRAGMA user_version = " + std::to_string(kSchemaVersion + 1);
  EXPECT_EQ(sqlite3_exec(connection, newer.c_str(), nullptr, nullptr, nullptr), SQLITE_OK);
  sqlite3_close(connection);

  auto refused = SqliteStore::Open(path_);
  ASSERT_FALSE(refused.ok());
  EXPECT_THAT(refused.status().message(), HasSubstr("newer lagwatch"));
}

TEST_F(StoreFile, RefusesAFileThatIsNoDatabase) {
  std::ofstream(path_) << std::string(4096, 'x');
  EXPECT_EQ(SqliteStore::Open(path_).status().code(), base::StatusCode::kInternal);
}

TEST_F(StoreFile, SaysThatADirectoryIsMissing) {
  auto refused = SqliteStore::Open(directory_ / "missing/collector.db");
  EXPECT_EQ(refused.status().code(), base::StatusCode::kIo);
}

TEST_F(StoreFile, StoresNothingOfABatchWhenTheDatabaseRefuses) {
  auto store = SqliteStore::Open(path_);
  SampleReport report;
  std::string payload = report.Encode();
  report::Report decoded = report::DecodeReport(payload).value();
  const std::vector<NewRecord> records = {
      NewReport::Create(decoded, Clusterer::Create("")->Assign(decoded), payload),
      report::HangEnd{report.header.id, 5}};

  sqlite3* other = nullptr;
  ASSERT_EQ(sqlite3_open(path_.c_str(), &other), SQLITE_OK);
  ASSERT_EQ(
      sqlite3_exec(
          other,
          "CREATE TRIGGER refuse AFTER UPDATE OF end_ns ON reports BEGIN SELECT RAISE(ABORT, 'no'); END",
          nullptr, nullptr, nullptr),
      SQLITE_OK);
  EXPECT_EQ(store.value()->Commit(records).status().code(), base::StatusCode::kUnavailable);
  EXPECT_FALSE(store.value()->FindReport(report.header.id)->has_value());
  ASSERT_EQ(sqlite3_exec(other, "DROP TRIGGER refuse", nullptr, nullptr, nullptr), SQLITE_OK);
  sqlite3_close(other);
  EXPECT_THAT(*store.value()->Commit(records), ::testing::Each(CommitOutcome::kStored));
}

TEST(SqliteStore, WhatIsTakenOutOfSumsLeavesWorkForTheirRepair) {
  testing::MemoryCollector collector;
  const SampleReport report;
  collector.Submit({report, SampleReport()});
  Store* store = collector.store.get();
  EXPECT_EQ(store->RepairSums(100).value(), 0);
  const Cluster other{.key = "other", .parent_key = {}, .frames = {"Other"}};
  const Cluster part{.key = "part", .level = 2, .parent_key = "other", .frames = {"Other"}};
  ASSERT_TRUE(store->Recluster(std::vector{Reclustered{report.header.id, {other, part}}}).ok());
  EXPECT_EQ(store->RepairSums(100).value(), 2);  // of both levels
  EXPECT_EQ(store->RepairSums(100).value(), 0);
}

}  // namespace
}  // namespace lagwatch::collector
