// SPDX-License-Identifier: Apache-2.0
// Sums of days: answers from them, updates after a change, and the collector that makes them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/clock.h"
#include "collector/query/query_api.h"
#include "collector/store/clickhouse/clickhouse_store.h"
#include "collector/store/clickhouse/insert/record_rows.h"
#include "collector/store/clickhouse/read/sums_plan.h"
#include "collector/store/clickhouse/server/sums_unit.h"
#include "collector/store/sqlite/sqlite_store.h"
#include "tests/collector/clickhouse/test_cluster.h"
#include "tests/testing/process.h"
#include "tests/testing/sample_report.h"
#include "tests/testing/temp_directory.h"

namespace lagwatch::collector {
namespace {

using testing::SampleReport;

constexpr int64_t kMsOfAnHour = 3'600'000;
constexpr int64_t kSummedDay = 20'000;

NewReport NewReportOf(const SampleReport& sample) {
  const std::string payload = sample.Encode();
  const report::Report decoded = report::DecodeReport(payload).value();
  return NewReport::Create(decoded, Clusterer::Create("")->Assign(decoded), payload);
}

SampleReport SampleAt(int64_t wall_ms, const std::string& leaf = "Leaf") {
  SampleReport sample;
  sample.header.id = sample.header.hang_id = base::CreateUuidV7(wall_ms);
  sample.header.start_wall_ms = static_cast<uint64_t>(wall_ms);
  sample.header.elapsed_ns = 1'000'000'000;
  sample.stack[0] = leaf;
  return sample;
}

TEST(SumsUnit, ReportsBelongToTheHourOfTheirHangsFirst) {
  const int64_t ms = kSummedDay * kMsPerDay + 5 * kMsOfAnHour;
  const base::Uuid first = base::CreateUuidV7(ms), later = base::CreateUuidV7(ms + 3 * kMsOfAnHour);
  const int64_t hour = kSummedDay * 24 + 5;
  EXPECT_EQ(HomeHourOf(first, first), hour);
  EXPECT_EQ(HomeHourOf(later, first), hour);
  // A report that cannot be its hang's first one does not count.
  EXPECT_EQ(HomeHourOf(first, base::CreateUuidV7(ms + 3 * kMsOfAnHour)), hour);
  EXPECT_EQ(HomeHourOf(first, base::CreateUuidV7(ms - 40 * kMsPerDay)), hour);
  EXPECT_EQ(HomeHourOf(first, base::Uuid{}), hour);
  base::Uuid beyond;
  beyond.bytes.fill(0xff);
  EXPECT_EQ(HomeHourOf(beyond, beyond), kLastDay * 24 + 23);
}

TEST(SumsUnit, NumbersTellDaysAndHoursApart) {
  const SumsUnit hour = SumsUnit::OfHour(kSummedDay * 24 + 23), day = SumsUnit::OfDay(kSummedDay);
  EXPECT_TRUE(hour.is_hour());
  EXPECT_FALSE(hour.is_day());
  EXPECT_TRUE(day.is_day());
  EXPECT_FALSE(day.is_hour());
  EXPECT_FALSE(SumsUnit::OfUnknownHangs(kSummedDay).is_hour());
  EXPECT_FALSE(SumsUnit::OfStart().is_hour());
  EXPECT_EQ(hour.day(), kSummedDay);
  EXPECT_EQ(hour.end_hour(), day.end_hour());
  EXPECT_EQ(day.first_hour(), kSummedDay * 24);
}

TEST(SumsUnit, ASpanHasDaysThatFollowEachOther) {
  const SumsUnit span = SumsUnit::OfSpan(kSummedDay + 3);
  EXPECT_TRUE(span.is_span());
  EXPECT_FALSE(span.is_day() || span.is_hour() || span.is_usage() || span.is_unknown_hangs());
  EXPECT_EQ(span, SumsUnit::OfSpan(span.day()));
  EXPECT_EQ(span, SumsUnit::OfSpan(span.end_day() - 1));
  EXPECT_NE(span, SumsUnit::OfSpan(span.end_day()));
  EXPECT_EQ(span.end_day() - span.day(), SumsUnit::kDaysOfASpan);
}

class Sums : public ::testing::Test {
 protected:
  std::unique_ptr<ClickHouseStore> Open(const std::string& collector) {
    auto store = ClickHouseStore::Open(database_.Url(), directory_ / collector);
    EXPECT_TRUE(store.ok()) << store.status().message();
    return std::move(store).value();
  }
  void Commit(const std::vector<NewRecord>& records) {
    const auto committed = store_->Commit(records);
    ASSERT_TRUE(committed.ok()) << committed.status().message();
  }
  void SumUp() {
    const auto summed = store_->SumUpForTest();
    ASSERT_TRUE(summed.ok()) << summed.message();
  }
  // So that an answer which has reports in it cannot come from elsewhere than from sums.
  void ForgetReports() {
    for (size_t node = 0; node < connection_.node_count(); node += 2)
      connection_.ExecuteAt(node, "TRUNCATE TABLE " + schema_.OfShard(kReports));
    EXPECT_TRUE(testing::WaitUntil([&] { return store_->Reports({}, 1)->empty(); }, 20));
  }
  UnitStates States() { return UnitStates::Read(RowSource(&connection_, &schema_)); }
  std::string Get(const std::string& path, const std::string& query = "") {
    QueryApi api(store_.get(), {});
    const auto answer = api.Get(path, query);
    EXPECT_EQ(answer.status, 200) << path << "?" << query << ": " << answer.body;
    return answer.body;
  }
  int64_t Reports(const ReportFilter& filter = {}) {
    return store_->Causes({.filter = filter})->all.sums.reports;
  }
  double HangMs() { return store_->Causes({})->all.sums.hang_ns / 1e6; }

  testing::ScopedTempDirectory directory_;
  testing::OwnDatabase database_;
  const ClickHouseUrl url_ = ClickHouseUrl::Parse(database_.Url()).value();
  const Schema schema_{url_};
  Connection connection_{url_};
  std::unique_ptr<ClickHouseStore> store_ = Open("one");
};

TEST_F(Sums, AnswersReadNoReports) {
  const int64_t now_ms = base::SystemClock().WallMs();
  std::vector<NewRecord> records;
  std::string key;
  for (const int64_t day_ms : {kSummedDay * kMsPerDay, (kSummedDay + 1) * kMsPerDay, now_ms}) {
    for (int i = 0; i < 4; ++i) {
      SampleReport sample = SampleAt(day_ms + i, "Leaf" + std::to_string(i % 2));
      const std::string user = "u-" + std::to_string(i);
      sample.header.user = user;
      records.push_back(NewReportOf(sample));
      records.push_back(report::HangEnd{sample.header.id, 2'000'000'000 + i});
      key = std::get<NewReport>(records[records.size() - 2]).clusters[0].key;
    }
  }
  Commit(records);
  const std::vector<std::pair<std::string, std::string>> asked = {
      {"/v1/clusters", ""},
      {"/v1/clusters", "level=2"},
      {"/v1/clusters", "app=editor&verdict=&limit=1"},
      {"/v1/clusters", "app=nothing"},
      {"/v1/clusters", "from_ms=" + std::to_string((kSummedDay + 1) * kMsPerDay)},
      {"/v1/clusters", "q=leaf1"}};
  std::vector<std::string> before;
  for (const auto& [path, query] : asked) before.push_back(Get(path, query));
  SumUp();
  ForgetReports();
  for (size_t i = 0; i < asked.size(); ++i)
    EXPECT_EQ(Get(asked[i].first, asked[i].second), before[i]) << asked[i].first << "?" << asked[i].second;
  EXPECT_EQ(Reports(), 12);
  EXPECT_EQ(Reports({.last_day = kSummedDay}), 4);
  EXPECT_EQ(Reports({.first_day = kSummedDay + 1, .last_day = kSummedDay + 1}), 4);
  EXPECT_EQ(store_->FindCause(key)->value().sums.reports, 6);
  EXPECT_EQ(store_->FindCause(key)->value().children.size(), 1u);
  EXPECT_EQ(store_->FindCause(key, {.version = "none"})->has_value(), false);
  EXPECT_EQ(store_->CauseVersions(key)->at(0).sums.users.Count(), 2);
  EXPECT_EQ(store_->CauseDays(key)->size(), 3u);
  EXPECT_EQ(store_->CostByDay({&key, 1}, kSummedDay, kSummedDay + 1)->at(key).size(), 2u);
}

TEST_F(Sums, OfDaysAreMadeForPastDaysAndOfHoursForToday) {
  const int64_t now_ms = base::SystemClock().WallMs();
  Commit({NewReportOf(SampleAt(kSummedDay * kMsPerDay)), NewReportOf(SampleAt(now_ms))});
  SumUp();
  const UnitStates states = States();
  EXPECT_NE(states.StateOf(SumsUnit::OfDay(kSummedDay)), nullptr);
  EXPECT_NE(states.StateOf(SumsUnit::OfHour(now_ms / kMsOfAnHour)), nullptr);
  EXPECT_EQ(states.states.size(), 2u);
}

TEST_F(Sums, OfSpansAreReadUntilADayChanges) {
  const SumsUnit span = SumsUnit::OfSpan(kSummedDay);
  std::vector<NewRecord> records;
  const auto add = [&](int64_t day, int64_t at_ms, const std::string& leaf) {
    SampleReport sample = SampleAt(day * kMsPerDay + at_ms, leaf);
    const std::string user = "u-" + std::to_string(day % 3);
    sample.header.user = user;
    records.push_back(NewReportOf(sample));
  };
  for (int64_t day = span.day() - 1; day <= span.end_day(); ++day) {
    add(day, 1000, "Leaf");
    add(day, 2000, "Leaf" + std::to_string(day % 2));
  }
  Commit(records);
  const std::string days = "from_ms=" + std::to_string((span.day() - 1) * kMsPerDay) +
                           "&to_ms=" + std::to_string(span.end_day() * kMsPerDay - 1);
  const std::vector<std::string> asked = {"", "level=2", "app=editor", days,
                                          "from_ms=" + std::to_string((span.day() + 1) * kMsPerDay)};
  std::vector<std::string> before;
  for (const std::string& query : asked) before.push_back(Get("/v1/clusters", query));
  SumUp();
  ASSERT_NE(States().StateOf(span), nullptr);
  const auto count_of = [&](const ReportFilter& filter) {
    const auto plan = SumsPlan::Of(States(), filter);
    return plan->units.size();
  };
  EXPECT_EQ(count_of({}), 3u);  // the span, and the days around it
  // The day after the last may have reports of it: a clock was set back.
  EXPECT_EQ(count_of({.first_day = span.day() - 1, .last_day = span.end_day() - 1}), 3u);
  EXPECT_EQ(count_of({.first_day = span.day() + 1}), 8u);
  for (size_t i = 0; i < asked.size(); ++i) EXPECT_EQ(Get("/v1/clusters", asked[i]), before[i]) << asked[i];

  records.clear();
  add(span.day() + 4, 9000, "Late");
  Commit(records);
  EXPECT_EQ(Reports(), 21);
  EXPECT_EQ(count_of({}), 9u);
  SumUp();
  EXPECT_EQ(count_of({}), 3u);
  ForgetReports();
  EXPECT_EQ(Reports(), 21);
}

TEST_F(Sums, WhatComesLaterIsSeenAtOnceAndSummedUp) {
  const SampleReport first = SampleAt(kSummedDay * kMsPerDay);
  Commit({NewReportOf(first)});
  SumUp();
  EXPECT_EQ(HangMs(), 1000);
  Commit({report::HangEnd{first.header.id, 7'000'000'000}});
  EXPECT_EQ(HangMs(), 7000);
  SampleReport second = SampleAt(kSummedDay * kMsPerDay + kMsOfAnHour, "Other");
  Commit({NewReportOf(second)});
  EXPECT_EQ(Reports(), 2);
  SumUp();
  EXPECT_EQ(States().states.size(), 1u);
  ForgetReports();
  EXPECT_EQ(HangMs(), 8000);
  EXPECT_EQ(Reports(), 2);
}

// Its reports are of two hours of which the second is already over for its first one.
TEST_F(Sums, AHangPastMidnightIsDividedOnce) {
  const int64_t midnight_ms = kSummedDay * kMsPerDay;
  const SampleReport first = SampleAt(midnight_ms - 1000);
  SampleReport second = SampleAt(midnight_ms + 2 * kMsOfAnHour, "Other");
  second.header.hang_id = first.header.id;
  second.header.ordinal = 1;
  second.header.elapsed_ns = 4'000'000'000;
  Commit({NewReportOf(first)});
  SumUp();
  Commit({NewReportOf(second)});
  Commit({report::HangEnd{second.header.id, 10'000'000'000}});
  SumUp();
  ForgetReports();
  const auto page = store_->Causes({}).value();
  EXPECT_EQ(page.all.sums.hangs, 1);
  EXPECT_EQ(page.all.sums.hang_ns, 10e9);
  EXPECT_EQ(Reports({.first_day = kSummedDay}), 1);
  EXPECT_EQ(Reports({.last_day = kSummedDay - 1}), 1);
}

// As ends are that were spooled while ClickHouse was away.
TEST_F(Sums, HangsOfEndsThatWereNotKnownAreFound) {
  const SampleReport first = SampleAt(kSummedDay * kMsPerDay - 1000);
  SampleReport second = SampleAt(kSummedDay * kMsPerDay + 2 * kMsOfAnHour, "Other");
  second.header.hang_id = first.header.id;
  second.header.ordinal = 1;
  second.header.elapsed_ns = 4'000'000'000;
  Commit({NewReportOf(first), NewReportOf(second)});
  SumUp();
  Versions versions;
  RecordRows rows(&schema_, &versions);
  rows.Add(report::HangEnd{second.header.id, 10'000'000'000});
  rows.MarkEndOf(second.header.id, std::nullopt);
  for (const Batch::Part& part : rows.Take()) connection_.Insert(part.target, part.rows);
  SumUp();
  SumUp();
  ForgetReports();
  EXPECT_EQ(HangMs(), 10'000);
}

TEST_F(Sums, MovedReportsAreSummedUpInTheirNewClusters) {
  const SampleReport sample = SampleAt(kSummedDay * kMsPerDay);
  Commit({NewReportOf(sample)});
  SumUp();
  const NewReport moved = NewReportOf(SampleAt(kSummedDay * kMsPerDay, "Elsewhere"));
  const Reclustered to{.id = sample.header.id, .clusters = moved.clusters};
  ASSERT_TRUE(store_->Recluster({&to, 1}).ok());
  for (const bool is_summed : {false, true}) {
    if (is_summed) {
      SumUp();
      ForgetReports();
    }
    const auto page = store_->Causes({}).value();
    ASSERT_EQ(page.causes.size(), 1u);
    EXPECT_EQ(page.causes[0].cluster.key, moved.clusters[0].key);
  }
}

// Records of a collector without sums have no marks.
TEST_F(Sums, WhatAnOlderCollectorStoredIsSummedUp) {
  Commit({NewReportOf(SampleAt(kSummedDay * kMsPerDay))});
  for (size_t node = 0; node < connection_.node_count(); node += 2)
    connection_.ExecuteAt(node, "ALTER TABLE " + schema_.OfShard(kMarks) + " DROP PARTITION '2024-10-04'");
  ASSERT_TRUE(testing::WaitUntil([&] { return States().marks.empty(); }, 20));
  EXPECT_EQ(Reports(), 1);
  SumUp();
  EXPECT_EQ(Reports(), 1);
  ForgetReports();
  EXPECT_EQ(Reports(), 1);
}

TEST_F(Sums, OneCollectorSumsUpAtATime) {
  auto other = Open("two");
  Commit({NewReportOf(SampleAt(kSummedDay * kMsPerDay))});
  SumUp();
  Commit({NewReportOf(SampleAt((kSummedDay + 1) * kMsPerDay))});
  EXPECT_EQ(other->RepairSums(1).value(), 0);
  EXPECT_EQ(States().states.size(), 1u);
  SumUp();
  EXPECT_EQ(States().states.size(), 3u);  // the days, and their span
}

TEST_F(Sums, OfRemovedDaysGo) {
  const int64_t midnight_ms = kSummedDay * kMsPerDay;
  const SampleReport first = SampleAt(midnight_ms - 1000);
  SampleReport second = SampleAt(midnight_ms + 1000);
  second.header.hang_id = first.header.id;
  second.header.ordinal = 1;
  second.header.elapsed_ns = 4'000'000'000;
  Commit({NewReportOf(SampleAt((kSummedDay - 40) * kMsPerDay)), NewReportOf(first), NewReportOf(second)});
  SumUp();
  EXPECT_EQ(Reports(), 3);
  EXPECT_EQ(store_->RemoveBefore(kSummedDay, 10).value(), 2);
  SumUp();
  // The hang that lasted past midnight is divided again among its remaining reports.
  EXPECT_EQ(Reports(), 1);
  EXPECT_EQ(HangMs(), 4000);
  EXPECT_EQ(States().StateOf(SumsUnit::OfDay(kSummedDay - 40)), nullptr);
  const auto states = States();
  EXPECT_EQ(store_->RemoveBefore(kSummedDay, 10).value(), 0);
  EXPECT_EQ(States().marks, states.marks);
}

TEST(UnitStates, LargeUnitsStayAsTheyWereUntilTheyAreSummedUp) {
  UnitStates known;
  const SumsUnit small = SumsUnit::OfDay(10), large = SumsUnit::OfDay(11),
                 unmade = SumsUnit::OfHour(12 * 24 + 5);
  known.marks = {{SumsUnit::OfStart().number(), 1},
                 {SumsUnit::OfHour(10 * 24 + 3).number(), 2},
                 {SumsUnit::OfHour(11 * 24).number(), 2},
                 {unmade.number(), 1}};
  known.states[small.number()] = {.reports = 50, .marks = 1, .last_day = 10};
  known.states[large.number()] = {.reports = SumsPlan::kMostReports, .marks = 1, .last_day = 11};
  const auto plan = SumsPlan::Of(known, {});
  ASSERT_TRUE(plan.has_value());
  EXPECT_EQ(plan->units, std::vector{large.number()});
  ASSERT_EQ(plan->others.size(), 2u);
  EXPECT_EQ(plan->others[0].first, 10 * 24);
  EXPECT_EQ(plan->others[1].first, 12 * 24 + 5);
}

}  // namespace
}  // namespace lagwatch::collector
