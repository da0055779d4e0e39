// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sqlite3.h>

#include <fstream>
#include <set>
#include <thread>

#include "collector/store/sqlite/older_schemas.h"
#include "collector/store/sqlite/schema.h"
#include "collector/store/sqlite/sqlite_store.h"
#include "tests/collector/memory_collector.h"
#include "tests/testing/temp_directory.h"

namespace lagwatch::collector {
namespace {

using ::testing::ElementsAre;
using testing::EncodeEnd;
using ::testing::HasSubstr;
using testing::MemoryCollector;
using testing::SampleReport;

class StoreFile : public ::testing::Test {
 protected:
  testing::ScopedTempDirectory directory_;
  std::string path_ = directory_ / "collector.db";
};

std::optional<int64_t> DurationOf(Store* store, const base::Uuid& id) {
  return store->FindReport(id)->value().row.duration_ns;
}

TEST(Store, JoinsALagsEndThatComesAfterItsReport) {
  MemoryCollector collector;
  SampleReport report;
  collector.Submit({report});
  EXPECT_EQ(DurationOf(collector.store.get(), report.header.id), std::nullopt);
  collector.Submit({}, {EncodeEnd(report.header.id, 4'100'000'000)});
  EXPECT_EQ(DurationOf(collector.store.get(), report.header.id), 4'100'000'000);
}

TEST(Store, JoinsALagsEndThatComesBeforeItsReport) {
  MemoryCollector collector;
  SampleReport report;
  collector.Submit({}, {EncodeEnd(report.header.id, 4'100'000'000)});
  collector.Submit({report});
  EXPECT_EQ(DurationOf(collector.store.get(), report.header.id), 4'100'000'000);
}

TEST(Store, TheEndOfOneReportEndsAllReportsOfItsLag) {
  MemoryCollector collector;
  SampleReport first, second, third;
  second.header.lag_id = third.header.lag_id = first.header.id;
  collector.Submit({first, second});
  collector.Submit({}, {EncodeEnd(second.header.id, 5'000'000'000)});
  collector.Submit({third});
  for (const SampleReport& report : {first, second, third}) {
    EXPECT_EQ(DurationOf(collector.store.get(), report.header.id), 5'000'000'000);
  }
}

TEST(Store, KeepsTheFirstEndOfAReport) {
  MemoryCollector collector;
  SampleReport report;
  collector.Submit({report}, {EncodeEnd(report.header.id, 1'000)});
  EXPECT_EQ(collector.Submit({}, {EncodeEnd(report.header.id, 2'000)}).duplicates, 1);
  EXPECT_EQ(DurationOf(collector.store.get(), report.header.id), 1'000);
}

report::RunEnd RunEndOf(const SampleReport& report, policies::ExitReason reason) {
  return {.session_id = report.header.session_id,
          .reason = reason,
          .report_id = report.header.id,
          .lag_ns = 9'000'000'000,
          .loop = "ui",
          .last_seen_wall_ms = 1'700'000'009'000,
          .scene = "inbox",
          .app = "editor",
          .app_version = "2.3.1",
          .user = "u-71"};
}

std::string KindOf(Store* store, const base::Uuid& id) { return store->FindReport(id)->value().row.kind; }

class StoreRunEnd : public ::testing::Test {
 protected:
  SampleReport report_;
  MemoryCollector collector_;
};

TEST_F(StoreRunEnd, TheLagThatARunWasKilledInEndsWithItsRun) {
  SampleReport later;
  later.header.lag_id = report_.header.id;
  later.header.ordinal = 1;
  collector_.Submit({report_, later});
  collector_.SubmitRunEnds({RunEndOf(report_, policies::ExitReason::kKilledInLag)});
  for (const SampleReport& report : {report_, later}) {
    EXPECT_EQ(DurationOf(collector_.store.get(), report.header.id), 9'000'000'000);
    EXPECT_EQ(KindOf(collector_.store.get(), report.header.id), "killed-in-hang");
  }
}

TEST_F(StoreRunEnd, MayComeBeforeItsReport) {
  collector_.SubmitRunEnds({RunEndOf(report_, policies::ExitReason::kKilledInLag)});
  collector_.Submit({report_});
  EXPECT_EQ(DurationOf(collector_.store.get(), report_.header.id), 9'000'000'000);
  EXPECT_EQ(KindOf(collector_.store.get(), report_.header.id), "killed-in-hang");
}

TEST_F(StoreRunEnd, IsStoredOnceAsItWasFirstTold) {
  EXPECT_EQ(collector_.SubmitRunEnds({RunEndOf(report_, policies::ExitReason::kOomKill)}).accepted, 1);
  EXPECT_EQ(collector_.SubmitRunEnds({RunEndOf(report_, policies::ExitReason::kUnknown)}).duplicates, 1);
  auto found = collector_.store->FindRunEnd(report_.header.session_id);
  ASSERT_TRUE(found->has_value());
  EXPECT_EQ(found->value().reason, "oom-kill");
  EXPECT_EQ(found->value().report_id, report_.header.id);
  EXPECT_EQ(found->value().lag_ns, 9'000'000'000);
  EXPECT_EQ(found->value().scene, "inbox");
  EXPECT_EQ(found->value().user, "u-71");
}

TEST_F(StoreRunEnd, ALagThatIsKnownToHaveEndedWasNotKilled) {
  collector_.Submit({report_}, {EncodeEnd(report_.header.id, 3'000'000'000)});
  collector_.SubmitRunEnds({RunEndOf(report_, policies::ExitReason::kKilledInLag)});
  EXPECT_EQ(DurationOf(collector_.store.get(), report_.header.id), 3'000'000'000);
  EXPECT_EQ(KindOf(collector_.store.get(), report_.header.id), "lag");
}

TEST_F(StoreRunEnd, AnotherReasonLeavesTheReportAsItIs) {
  collector_.Submit({report_});
  collector_.SubmitRunEnds({RunEndOf(report_, policies::ExitReason::kReboot)});
  EXPECT_EQ(DurationOf(collector_.store.get(), report_.header.id), std::nullopt);
  EXPECT_EQ(KindOf(collector_.store.get(), report_.header.id), "lag");
}

TEST_F(StoreRunEnd, NeverMakesALagShorterThanItsReportSays) {
  report::RunEnd end = RunEndOf(report_, policies::ExitReason::kKilledInLag);
  end.lag_ns = 1;
  collector_.Submit({report_});
  collector_.SubmitRunEnds({end});
  EXPECT_EQ(DurationOf(collector_.store.get(), report_.header.id), report_.header.elapsed_ns);
}

TEST_F(StoreRunEnd, MayBeWithoutALag) {
  report::RunEnd end{.session_id = report_.header.session_id, .reason = policies::ExitReason::kCleanExit};
  EXPECT_EQ(collector_.SubmitRunEnds({end}).accepted, 1);
  EXPECT_EQ(collector_.store->FindRunEnd(report_.header.session_id)->value().report_id, base::Uuid{});
}

// As lagwatch made it when `version` was its newest, with one report of a lag.
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
  for (int version = 1; version < kSchemaVersion; ++version) {
    std::filesystem::remove(path_);
    MakeDatabaseOf(version, path_, report.header.id);
    auto store = SqliteStore::Open(path_);
    ASSERT_TRUE(store.ok()) << store.status().message();
    const std::vector<NewRecord> records = {
        RunEndOf(report, policies::ExitReason::kKilledInLag), report::FrameSlice(), NewUsage(),
        report::Losses{.losses = {{.count = 1}}}, UnknownRecord{static_cast<report::RecordType>(77), "new"}};
    EXPECT_THAT(*(*store)->Commit(records), ::testing::Each(CommitOutcome::kStored)) << version;
    EXPECT_EQ(KindOf(store->get(), report.header.id), "killed-in-hang");
  }
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
  EXPECT_EQ(SqliteStore::Open(path_).status().code(), base::StatusCode::kIo);
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
      report::LagEnd{report.header.id, 5}};

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

TEST(Store, KeepsUnknownRecordsOnceAndSoMany) {
  auto store = SqliteStore::Open(":memory:").value();
  std::vector<std::string> payloads;
  for (int64_t i = 0; i <= Store::kMaxUnknownRecords; ++i) payloads.push_back(std::to_string(i));
  constexpr auto kNewType = static_cast<report::RecordType>(77);
  std::vector<NewRecord> records;
  for (const std::string& payload : payloads) records.push_back(UnknownRecord{kNewType, payload});
  const auto stored = store->Commit(records).value();
  EXPECT_EQ(stored.front(), CommitOutcome::kStored);
  EXPECT_EQ(stored[stored.size() - 2], CommitOutcome::kStored);
  EXPECT_EQ(stored.back(), CommitOutcome::kNoRoom);
  const auto again = store->Commit(records).value();
  EXPECT_EQ(again.front(), CommitOutcome::kDuplicate);
  EXPECT_EQ(again.back(), CommitOutcome::kNoRoom);

  std::set<std::string> kept;
  ASSERT_TRUE(store
                  ->ForEachUnknownRecord([&](const UnknownRecord& record) {
                    EXPECT_EQ(record.type, kNewType);
                    kept.emplace(record.payload);
                  })
                  .ok());
  payloads.pop_back();
  EXPECT_EQ(kept, std::set(payloads.begin(), payloads.end()));
}

TEST(Store, AnUnknownRecordThatComesAgainIsADuplicate) {
  auto store = SqliteStore::Open(":memory:").value();
  const std::vector<NewRecord> record = {UnknownRecord{static_cast<report::RecordType>(77), "new"}};
  EXPECT_THAT(*store->Commit(record), ElementsAre(CommitOutcome::kStored));
  EXPECT_THAT(*store->Commit(record), ElementsAre(CommitOutcome::kDuplicate));
}

TEST(Store, TakesReportsFromSeveralThreads) {
  MemoryCollector collector;
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      for (int round = 0; round < 25; ++round) {
        collector.Submit({SampleReport()});
        collector.Get("/v1/clusters");
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(collector.Get("/v1/clusters")[0]["reports"], 100);
}

}  // namespace
}  // namespace lagwatch::collector
