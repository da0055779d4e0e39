// SPDX-License-Identifier: Apache-2.0
// The handling of traces by every store.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "collector/maintenance/retention_job.h"
#include "tests/collector/memory_collector.h"
#include "tests/collector/sample_traces.h"

namespace lagwatch::collector {
namespace {

using ::testing::ElementsAre;
using ::testing::SizeIs;

constexpr int64_t kTraceDay = 20'000;

class TraceStoreTest : public ::testing::Test {
 protected:
  std::vector<CommitOutcome> Commit(std::vector<report::TraceRecord> traces) {
    std::vector<NewRecord> records;
    for (report::TraceRecord& trace : traces) records.push_back(NewTrace::Create(std::move(trace)));
    auto outcomes = store_->Commit(records);
    EXPECT_TRUE(outcomes.ok()) << outcomes.status().message();
    return std::move(outcomes).value();
  }

  // Made on that day, with its report.
  report::TraceRecord TraceOfDay(int64_t day) {
    const int64_t wall_ms = day * kMsPerDay + 5;
    return testing::TraceOf(base::CreateUuidV7(wall_ms), testing::SampleTrace(), wall_ms);
  }

  std::unique_ptr<Store> store_ = testing::open_store();
};

TEST_F(TraceStoreTest, KeepsATraceOnceAsItCame) {
  report::TraceRecord trace = TraceOfDay(kTraceDay);
  trace.cause = UINT64_MAX;
  trace.sample_rate_ppm = 50'000;
  EXPECT_THAT(Commit({trace, trace}), ElementsAre(CommitOutcome::kStored, CommitOutcome::kDuplicate));
  EXPECT_THAT(Commit({trace}), ElementsAre(CommitOutcome::kDuplicate));

  const auto found = store_->FindTrace(trace.id).value();
  ASSERT_TRUE(found.has_value());
  EXPECT_EQ(found->trace, trace.trace);
  const TraceRow& row = found->row;
  EXPECT_EQ(row.id, trace.id);
  EXPECT_EQ(row.session_id, trace.session_id);
  EXPECT_EQ(row.report_id, trace.report_id);
  EXPECT_EQ(row.hang_id, trace.hang_id);
  EXPECT_EQ(row.app + row.version + row.user + row.reason, "editor2.3.1u-71lag");
  EXPECT_EQ(row.begin_wall_ms, 1'700'000'000'000);
  EXPECT_EQ(row.duration_ns, 40'000'000);
  EXPECT_EQ(row.size_bytes, static_cast<int64_t>(trace.trace.size()));
  EXPECT_EQ(row.sample_rate_ppm, 50'000);
  EXPECT_EQ(row.cause, -1);
  EXPECT_FALSE(store_->FindTrace(trace.report_id)->has_value());
}

TEST_F(TraceStoreTest, TellsTheTracesOfReports) {
  const report::TraceRecord first = TraceOfDay(kTraceDay);
  report::TraceRecord second = TraceOfDay(kTraceDay + 1), of_none = TraceOfDay(kTraceDay);
  second.report_id = first.report_id;
  of_none.report_id = {};
  const report::TraceRecord other = TraceOfDay(kTraceDay);
  Commit({second, first, of_none, other});
  const auto ids_of = [&](std::vector<base::Uuid> reports) {
    std::vector<base::Uuid> ids;
    const auto traces = store_->TracesOf(reports);
    EXPECT_TRUE(traces.ok()) << traces.status().message();
    for (const TraceRow& row : *traces) ids.push_back(row.id);
    return ids;
  };
  EXPECT_THAT(ids_of({first.report_id}), ElementsAre(first.id, second.id));
  EXPECT_THAT(ids_of({other.report_id, first.report_id}), SizeIs(3));
  EXPECT_THAT(ids_of({}), SizeIs(0));
  EXPECT_THAT(ids_of({base::CreateUuidV7(kTraceDay * kMsPerDay)}), SizeIs(0));
}

TEST_F(TraceStoreTest, ListsTracesTheNewestFirst) {
  const report::TraceRecord old = TraceOfDay(kTraceDay);
  report::TraceRecord young = TraceOfDay(kTraceDay + 1);
  young.report_id = {};
  young.user = "u-72";
  Commit({old, young});
  const auto ids_of = [&](const ReportFilter& filter, int64_t limit,
                          const std::optional<base::Uuid>& before) {
    std::vector<base::Uuid> ids;
    const auto traces = store_->ListTraces(filter, limit, before);
    EXPECT_TRUE(traces.ok()) << traces.status().message();
    for (const TraceRow& row : *traces) ids.push_back(row.id);
    return ids;
  };
  EXPECT_THAT(ids_of({}, 10, {}), ElementsAre(young.id, old.id));
  EXPECT_THAT(ids_of({}, 1, {}), ElementsAre(young.id));
  EXPECT_THAT(ids_of({}, 10, young.id), ElementsAre(old.id));
  EXPECT_THAT(ids_of({.app = "editor", .version = "2.3.1", .user = "u-72"}, 10, {}), ElementsAre(young.id));
  EXPECT_THAT(ids_of({.app = "viewer"}, 10, {}), SizeIs(0));
}

TEST_F(TraceStoreTest, ListsResultsOfProbesByScriptAndApartFromTraces) {
  const auto answer_of_day = [](int64_t day, char digit, const std::string& version) {
    report::TraceRecord answer =
        testing::ProbeAnswerOf({.script = std::string(64, digit), .hits = 1}, day * kMsPerDay + 5);
    answer.app_version = version;
    return answer;
  };
  const report::TraceRecord old = answer_of_day(kTraceDay, 'f', "1");
  const report::TraceRecord young = answer_of_day(kTraceDay + 1, 'f', "2");
  const report::TraceRecord other = answer_of_day(kTraceDay + 2, '1', "2");
  const report::TraceRecord trace = TraceOfDay(kTraceDay);
  Commit({old, young, other, trace});
  const auto ids_of = [&](const ReportFilter& filter, char digit, int64_t limit) {
    const auto key = digit == 0 ? 0 : report::KeyOfScript(std::string(64, digit));
    const auto results = store_->ProbeResults(filter, static_cast<int64_t>(key), limit);
    EXPECT_TRUE(results.ok()) << results.status().message();
    std::vector<base::Uuid> ids;
    for (const StoredTrace& result : *results) {
      EXPECT_TRUE(report::UnpackProbeResult(result.trace).ok());
      ids.push_back(result.row.id);
    }
    return ids;
  };
  EXPECT_THAT(ids_of({}, 0, 10), ElementsAre(other.id, young.id, old.id));
  EXPECT_THAT(ids_of({}, 'f', 10), ElementsAre(young.id, old.id));
  EXPECT_THAT(ids_of({}, 'f', 1), ElementsAre(young.id));
  EXPECT_THAT(ids_of({.version = "1"}, 'f', 10), ElementsAre(old.id));
  EXPECT_THAT(ids_of({.first_day = kTraceDay + 1}, 'f', 10), ElementsAre(young.id));
  EXPECT_THAT(ids_of({.user = "u-0"}, 0, 10), SizeIs(0));
  const auto traces = store_->ListTraces({}, 10, {});
  ASSERT_EQ(traces->size(), 1u);
  EXPECT_EQ(traces->front().id, trace.id);
}

TEST_F(TraceStoreTest, OldTracesGoBeforeTheirReportsAndWithThem) {
  const report::TraceRecord old = TraceOfDay(kTraceDay - 40);
  const report::TraceRecord young = TraceOfDay(kTraceDay - 10);
  Commit({old, young, TraceOfDay(kTraceDay)});  // the last says that the clock is right
  const auto now_ms = [] { return kTraceDay * kMsPerDay + 7; };
  RetentionJob all(store_.get(), 0, now_ms, {}, RetentionJob::Of::kTracesOnly);
  EXPECT_FALSE(all.Step().value());
  EXPECT_TRUE(store_->FindTrace(old.id)->has_value());
  RetentionJob job(store_.get(), 30, now_ms, {}, RetentionJob::Of::kTracesOnly);
  while (job.Step().value()) {
  }
  EXPECT_FALSE(store_->FindTrace(old.id)->has_value());
  EXPECT_TRUE(store_->FindTrace(young.id)->has_value());
  ASSERT_TRUE(store_->RemoveBefore(kTraceDay, 100).ok());
  EXPECT_FALSE(store_->FindTrace(young.id)->has_value());
  EXPECT_THAT(Commit({young}), ElementsAre(CommitOutcome::kStored));
}

}  // namespace
}  // namespace lagwatch::collector
