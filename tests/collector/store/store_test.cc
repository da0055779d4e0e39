// SPDX-License-Identifier: Apache-2.0
// The behaviour of every store, of any kind.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <set>
#include <thread>

#include "tests/collector/memory_collector.h"

namespace lagwatch::collector {
namespace {

using ::testing::ElementsAre;
using testing::EncodeEnd;
using testing::MemoryCollector;
using testing::SampleReport;

std::optional<int64_t> DurationOf(Store* store, const base::Uuid& id) {
  return store->FindReport(id)->value().row.duration_ns;
}

TEST(Store, JoinsAHangsEndThatComesAfterItsReport) {
  MemoryCollector collector;
  SampleReport report;
  collector.Submit({report});
  EXPECT_EQ(DurationOf(collector.store.get(), report.header.id), std::nullopt);
  collector.Submit({}, {EncodeEnd(report.header.id, 4'100'000'000)});
  EXPECT_EQ(DurationOf(collector.store.get(), report.header.id), 4'100'000'000);
}

TEST(Store, JoinsAHangsEndThatComesBeforeItsReport) {
  MemoryCollector collector;
  SampleReport report;
  collector.Submit({}, {EncodeEnd(report.header.id, 4'100'000'000)});
  collector.Submit({report});
  EXPECT_EQ(DurationOf(collector.store.get(), report.header.id), 4'100'000'000);
}

TEST(Store, TheEndOfOneReportEndsAllReportsOfItsHang) {
  MemoryCollector collector;
  SampleReport first, second, third;
  second.header.hang_id = third.header.hang_id = first.header.id;
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
          .hang_ns = 9'000'000'000,
          .loop = "ui",
          .last_seen_wall_ms = 1'700'000'009'000,
          .scene = "inbox",
          .app = "editor",
          .app_version = "2.3.1",
          .user = "u-71"};
}

std::string KindOf(Store* store, const base::Uuid& id) { return store->FindReport(id)->value().row.kind; }

TEST(Store, FindsTheReportsOfARunInATime) {
  MemoryCollector collector;
  SampleReport before, one, other, after, foreign;
  before.header.id = before.header.hang_id = base::CreateUuidV7(1'700'000'000'000);
  one.header.id = one.header.hang_id = base::CreateUuidV7(1'700'000'010'000);
  other.header.id = other.header.hang_id = base::CreateUuidV7(1'700'000'020'000);
  after.header.id = after.header.hang_id = base::CreateUuidV7(1'700'000'020'001);
  foreign.header.id = foreign.header.hang_id = base::CreateUuidV7(1'700'000'010'001);
  for (SampleReport* of_the_run : {&before, &other, &after})
    of_the_run->header.session_id = one.header.session_id;
  collector.Submit({before, one, other, after, foreign});
  const auto found = [&](int64_t limit) {
    const auto rows =
        collector.store->ReportsOfRun(one.header.session_id, 1'700'000'000'001, 1'700'000'020'000, limit);
    EXPECT_TRUE(rows.ok()) << rows.status().message();
    std::vector<base::Uuid> ids;
    for (const ReportRow& row : rows.ok() ? *rows : std::vector<ReportRow>()) ids.push_back(row.id);
    return ids;
  };
  EXPECT_THAT(found(10), ElementsAre(other.header.id, one.header.id));
  EXPECT_THAT(found(1), ElementsAre(other.header.id));
}

class StoreRunEnd : public ::testing::Test {
 protected:
  RunEndRow FoundEnd() const {
    const auto found = collector_.store->RunEndsOf({&report_.header.session_id, 1});
    EXPECT_EQ(found->size(), 1u);
    return found->size() == 1 ? found->front() : RunEndRow{};
  }

  SampleReport report_;
  MemoryCollector collector_;
};

TEST_F(StoreRunEnd, TheHangThatARunWasKilledInEndsWithItsRun) {
  SampleReport later;
  later.header.hang_id = report_.header.id;
  later.header.ordinal = 1;
  collector_.Submit({report_, later});
  collector_.SubmitRunEnds({RunEndOf(report_, policies::ExitReason::kKilledInHang)});
  for (const SampleReport& report : {report_, later}) {
    EXPECT_EQ(DurationOf(collector_.store.get(), report.header.id), 9'000'000'000);
    EXPECT_EQ(KindOf(collector_.store.get(), report.header.id), "killed-in-hang");
  }
}

TEST_F(StoreRunEnd, MayComeBeforeItsReport) {
  collector_.SubmitRunEnds({RunEndOf(report_, policies::ExitReason::kKilledInHang)});
  collector_.Submit({report_});
  EXPECT_EQ(DurationOf(collector_.store.get(), report_.header.id), 9'000'000'000);
  EXPECT_EQ(KindOf(collector_.store.get(), report_.header.id), "killed-in-hang");
}

TEST_F(StoreRunEnd, IsStoredOnceAsItWasFirstTold) {
  EXPECT_EQ(collector_.SubmitRunEnds({RunEndOf(report_, policies::ExitReason::kOomKill)}).accepted, 1);
  EXPECT_EQ(collector_.SubmitRunEnds({RunEndOf(report_, policies::ExitReason::kUnknown)}).duplicates, 1);
  const RunEndRow found = FoundEnd();
  EXPECT_EQ(found.session_id, report_.header.session_id);
  EXPECT_EQ(found.reason, "oom-kill");
  EXPECT_EQ(found.report_id, report_.header.id);
  EXPECT_EQ(found.hang_ns, 9'000'000'000);
  EXPECT_EQ(found.scene, "inbox");
  EXPECT_EQ(found.user, "u-71");
}

TEST_F(StoreRunEnd, AHangThatIsKnownToHaveEndedWasNotKilled) {
  collector_.Submit({report_}, {EncodeEnd(report_.header.id, 3'000'000'000)});
  collector_.SubmitRunEnds({RunEndOf(report_, policies::ExitReason::kKilledInHang)});
  EXPECT_EQ(DurationOf(collector_.store.get(), report_.header.id), 3'000'000'000);
  EXPECT_EQ(KindOf(collector_.store.get(), report_.header.id), "lag");
}

TEST_F(StoreRunEnd, AnotherReasonLeavesTheReportAsItIs) {
  collector_.Submit({report_});
  collector_.SubmitRunEnds({RunEndOf(report_, policies::ExitReason::kReboot)});
  EXPECT_EQ(DurationOf(collector_.store.get(), report_.header.id), std::nullopt);
  EXPECT_EQ(KindOf(collector_.store.get(), report_.header.id), "lag");
}

TEST_F(StoreRunEnd, NeverMakesAHangShorterThanItsReportSays) {
  report::RunEnd end = RunEndOf(report_, policies::ExitReason::kKilledInHang);
  end.hang_ns = 1;
  collector_.Submit({report_});
  collector_.SubmitRunEnds({end});
  EXPECT_EQ(DurationOf(collector_.store.get(), report_.header.id), report_.header.elapsed_ns);
}

TEST_F(StoreRunEnd, MayBeWithoutAHang) {
  report::RunEnd end{.session_id = report_.header.session_id, .reason = policies::ExitReason::kCleanExit};
  EXPECT_EQ(collector_.SubmitRunEnds({end}).accepted, 1);
  EXPECT_EQ(FoundEnd().report_id, base::Uuid{});
}

// Of each reason a number of runs of its own: in the answers about reports and about use.
TEST_F(StoreRunEnd, EveryReasonIsTold) {
  std::vector<report::RunEnd> ends;
  std::vector<SampleReport> reports;
  std::map<std::string, int64_t> expected;
  for (int32_t value = 0; value <= policies::kLastExitReason; ++value) {
    const auto reason = static_cast<policies::ExitReason>(value);
    expected[policies::ExitReasonName(reason)] = value + 1;
    for (int32_t i = 0; i <= value; ++i) {
      SampleReport report;
      report.header.id = report.header.hang_id = base::CreateUuidV7(1'700'000'000'000 + value * 100 + i);
      report.header.session_id = report.header.id;
      ends.push_back(RunEndOf(report, reason));
      reports.push_back(report);
    }
  }
  collector_.Submit(reports);
  collector_.SubmitRunEnds(ends);
  std::string batch;
  const report::Usage usage{.id = base::CreateUuidV7(1'700'000'000'000),
                            .session_id = base::CreateUuidV7(1'700'000'000'000),
                            .app = "editor",
                            .app_version = "2.3.1",
                            .user = {},
                            .loops = {{"ui", {.watched_ns = 1'000'000'000}}}};
  report::AppendToBatch({report::RecordType::kUsage, testing::EncodeUsage(usage)}, &batch);
  ASSERT_EQ(collector_.ingest.Submit(batch)->accepted, 1);
  const std::map<std::string, int64_t> counted = collector_.Get("/v1/usage")[0]["exits"];
  EXPECT_EQ(counted, expected);
  std::map<std::string, int64_t> listed;
  for (const Json& report : collector_.Get("/v1/reports", "limit=1000")) {
    const std::string reason = report["exit"]["reason"];
    ++listed[reason];
  }
  EXPECT_EQ(listed, expected);
  const Json report = collector_.Get("/v1/reports/" + base::ToString(reports.back().header.id));
  EXPECT_EQ(report["exit"]["reason"], "hang-in-crash");
}

TEST(Store, KeepsUnknownRecordsOnceAndSoMany) {
  const std::unique_ptr<Store> store = testing::open_store();
  std::vector<std::string> payloads;
  for (int64_t i = 0; i <= Store::kMaxUnknownRecords; ++i) payloads.push_back(std::to_string(i));
  constexpr auto kNewType = static_cast<report::RecordType>(77);
  std::vector<NewRecord> records;
  for (const std::string& payload : payloads) records.push_back(report::OwnedRecord{kNewType, payload});
  const auto stored = store->Commit(records).value();
  EXPECT_EQ(stored.front(), CommitOutcome::kStored);
  EXPECT_EQ(stored[stored.size() - 2], CommitOutcome::kStored);
  EXPECT_EQ(stored.back(), CommitOutcome::kNoRoom);
  const auto again = store->Commit(records).value();
  EXPECT_EQ(again.front(), CommitOutcome::kDuplicate);
  EXPECT_EQ(again.back(), CommitOutcome::kNoRoom);

  std::set<std::string> kept;
  ASSERT_TRUE(store
                  ->ForEachUnknownRecord([&](const report::OwnedRecord& record) {
                    EXPECT_EQ(record.type, kNewType);
                    kept.emplace(record.payload);
                  })
                  .ok());
  payloads.pop_back();
  EXPECT_EQ(kept, std::set(payloads.begin(), payloads.end()));
}

TEST(Store, AnUnknownRecordThatComesAgainIsADuplicate) {
  const std::unique_ptr<Store> store = testing::open_store();
  const std::vector<NewRecord> record = {report::OwnedRecord{static_cast<report::RecordType>(77), "new"}};
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
