// SPDX-License-Identifier: Apache-2.0
// What every store does, whatever it is made of.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

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

TEST(Store, KeepsUnknownRecordsOnceAndSoMany) {
  const std::unique_ptr<Store> store = testing::open_store();
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
  const std::unique_ptr<Store> store = testing::open_store();
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
