// SPDX-License-Identifier: Apache-2.0
// Records whose times, ids or durations cannot be right.
#include "collector/ingest/time_bounds.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "collector/http/endpoints.h"
#include "collector/http/server/http_server.h"
#include "tests/collector/http/http_client.h"
#include "tests/collector/memory_collector.h"
#include "tests/collector/sample_traces.h"
#include "tests/collector/sentry/payloads.h"

namespace lagwatch::collector {
namespace {

using testing::Answer;
using testing::Client;
using testing::EncodeBatch;
using testing::EncodeEnd;
using ::testing::HasSubstr;
using testing::SampleReport;

constexpr int64_t kNowMs = 1'700'000'000'000;
constexpr int64_t kDays = 90;
constexpr int64_t kMsOfADay = 86'400'000;
constexpr int64_t kTooOldMs = kNowMs - (kDays + 1) * kMsOfADay;
constexpr int64_t kTooNewMs = kNowMs + kMaxAheadMs + 1;
constexpr int64_t kTooLongNs = static_cast<int64_t>(kMaxDurationNs) + 1;
constexpr int64_t kBeyondDatesMs = 8'640'000'000'000'001;  // the first that JavaScript's Date cannot have

const TimeRule kRule = {.wall_ms = [] { return kNowMs; }, .retention_days = kDays};

// Checks records against a clock of its own.
class TimeBoundsTest : public ::testing::Test {
 protected:
  IngestResult Submit(report::RecordType type, const std::string& payload) {
    std::string batch;
    report::AppendToBatch({type, payload}, &batch);
    const auto result = ingest_.Submit(batch);
    EXPECT_TRUE(result.ok()) << result.status().message();
    return result.ok() ? *result : IngestResult{};
  }
  void ExpectRefused(report::RecordType type, const std::string& payload, const char* field) {
    const IngestResult result = Submit(type, payload);
    EXPECT_EQ(result.refused, 1) << field;
    EXPECT_EQ(result.rejected, 1) << field;
    ASSERT_EQ(result.records.size(), 1u);
    EXPECT_TRUE(result.records[0].is_refused);
    EXPECT_THAT(result.records[0].why, HasSubstr("refused: " + std::string(field)));
  }
  void ExpectTaken(report::RecordType type, const std::string& payload) {
    const IngestResult result = Submit(type, payload);
    EXPECT_EQ(result.accepted, 1) << (result.records.empty() ? "" : result.records[0].why);
  }

  testing::MemoryCollector collector_;
  Ingest ingest_{collector_.store.get(), Clusterer::Create("").value(), nullptr, {}, {}, kRule};
};

std::string ReportWith(const std::function<void(SampleReport*)>& change) {
  SampleReport report;
  change(&report);
  return report.Encode();
}

TEST_F(TimeBoundsTest, ReportsOfTheDaysThatAreKeptAreTaken) {
  for (int64_t wall_ms : {kNowMs, kNowMs - kDays * kMsOfADay, kNowMs + kMaxAheadMs}) {
    ExpectTaken(report::RecordType::kReport, ReportWith([&](SampleReport* report) {
                  report->header.id = report->header.hang_id = base::CreateUuidV7(wall_ms);
                  report->header.start_wall_ms = wall_ms;
                  report->header.elapsed_ns = static_cast<int64_t>(kMaxDurationNs);
                }));
  }
}

TEST_F(TimeBoundsTest, ReportsOfOtherTimesAreRefused) {
  for (int64_t wall_ms : {kTooOldMs, kTooNewMs, int64_t{0}, (int64_t{1} << 48) - 1}) {
    ExpectRefused(report::RecordType::kReport,
                  ReportWith([&](SampleReport* report) { report->header.id = base::CreateUuidV7(wall_ms); }),
                  "id");
  }
  for (int64_t wall_ms :
       {kTooOldMs - 30 * kMsOfADay, kTooNewMs, kBeyondDatesMs, INT64_MAX, INT64_MIN, int64_t{-1}}) {
    ExpectRefused(report::RecordType::kReport,
                  ReportWith([&](SampleReport* report) { report->header.start_wall_ms = wall_ms; }),
                  "start_wall_ms");
  }
  EXPECT_EQ(collector_.Get("/v1/reports").size(), 0u);
}

TEST_F(TimeBoundsTest, ReportsWithEndlessDurationsAreRefused) {
  for (int64_t ns : {kTooLongNs, INT64_MAX}) {
    ExpectRefused(report::RecordType::kReport,
                  ReportWith([&](SampleReport* report) { report->header.elapsed_ns = ns; }), "elapsed_ns");
    ExpectRefused(report::RecordType::kReport,
                  ReportWith([&](SampleReport* report) { report->header.cpu_window_ns = ns; }),
                  "cpu_window_ns");
    ExpectRefused(report::RecordType::kReport, ReportWith([&](SampleReport* report) {
                    report->history = {{.tag = "x", .age_ns = ns, .wall_ns = 1}};
                  }),
                  "a past dispatch's age_ns");
  }
}

TEST_F(TimeBoundsTest, EndsAreChecked) {
  const base::Uuid now = base::CreateUuidV7(kNowMs);
  ExpectTaken(report::RecordType::kHangEnd, EncodeEnd(now, 5));
  ExpectRefused(report::RecordType::kHangEnd, EncodeEnd(now, kTooLongNs), "duration_ns");
  ExpectRefused(report::RecordType::kHangEnd, EncodeEnd(base::CreateUuidV7(kTooNewMs), 5), "report_id");
}

TEST_F(TimeBoundsTest, EndsOfRunsAreChecked) {
  const report::RunEnd end{.session_id = base::CreateUuidV7(kNowMs),
                           .run_start_wall_ms = 5,  // a program may run for years
                           .last_seen_wall_ms = kNowMs};
  const auto with = [&](auto change) {
    report::RunEnd changed = end;
    change(&changed);
    return report::EncodeRunEnd(changed);
  };
  ExpectTaken(report::RecordType::kRunEnd, report::EncodeRunEnd(end));
  using Type = report::RecordType;
  ExpectRefused(Type::kRunEnd, with([](auto* run) { run->last_seen_wall_ms = kBeyondDatesMs; }),
                "last_seen_wall_ms");
  ExpectRefused(Type::kRunEnd, with([](auto* run) { run->last_seen_wall_ms = kTooOldMs; }),
                "last_seen_wall_ms");
  ExpectRefused(Type::kRunEnd, with([](auto* run) { run->run_start_wall_ms = UINT64_MAX; }),
                "run_start_wall_ms");
  ExpectRefused(Type::kRunEnd, with([](auto* run) { run->hang_ns = UINT64_MAX; }), "hang_ns");
  ExpectRefused(Type::kRunEnd, with([](auto* run) { run->report_id = base::CreateUuidV7(kTooNewMs); }),
                "report_id");
}

TEST_F(TimeBoundsTest, FramesUsageAndLossesAreChecked) {
  report::FrameSliceView slice;
  slice.id = base::CreateUuidV7(kNowMs);
  slice.begin_wall_ms = kNowMs;
  slice.duration_ns = 1;
  ExpectTaken(report::RecordType::kFrameSlice, testing::EncodeFrames(slice));
  slice.begin_wall_ms = kTooNewMs;
  ExpectRefused(report::RecordType::kFrameSlice, testing::EncodeFrames(slice), "begin_wall_ms");
  slice.begin_wall_ms = kNowMs;
  slice.duration_ns = kTooLongNs;
  ExpectRefused(report::RecordType::kFrameSlice, testing::EncodeFrames(slice), "duration_ns");

  report::Usage usage{.id = base::CreateUuidV7(kNowMs), .begin_wall_ms = kNowMs - 1, .end_wall_ms = kNowMs};
  ExpectTaken(report::RecordType::kUsage, testing::EncodeUsage(usage));
  usage.end_wall_ms = kTooNewMs;
  ExpectRefused(report::RecordType::kUsage, testing::EncodeUsage(usage), "end_wall_ms");
  usage.end_wall_ms = kTooOldMs;
  ExpectRefused(report::RecordType::kUsage, testing::EncodeUsage(usage), "end_wall_ms");

  report::Losses losses{.id = base::CreateUuidV7(kNowMs),
                        .begin_wall_ms = kNowMs,
                        .end_wall_ms = kNowMs,
                        .losses = {{.reason = report::LossReason::kTooOld, .count = 1}}};
  ExpectTaken(report::RecordType::kLosses, report::EncodeLosses(losses));
  losses.end_wall_ms = kTooOldMs;
  ExpectRefused(report::RecordType::kLosses, report::EncodeLosses(losses), "end_wall_ms");
}

TEST_F(TimeBoundsTest, TracesAreCheckedBeforeTheyTakeAPlaceInTheQuota) {
  Ingest ingest(collector_.store.get(), Clusterer::Create("").value(), nullptr, {}, {.traces_a_day = 1},
                kRule);
  const auto submit = [&](int64_t wall_ms) {
    std::string batch;
    report::AppendToBatch(
        {report::RecordType::kTrace, report::EncodeTraceRecord(testing::TraceOf(
                                         base::CreateUuidV7(wall_ms), testing::SampleTrace(), wall_ms))},
        &batch);
    return ingest.Submit(batch).value();
  };
  EXPECT_EQ(submit(kTooNewMs).refused, 1);
  EXPECT_EQ(submit(kTooOldMs).refused, 1);
  EXPECT_EQ(submit(kNowMs).accepted, 1);
}

TEST_F(TimeBoundsTest, WithoutRetentionOldReportsAreTaken) {
  Ingest ingest(collector_.store.get(), Clusterer::Create("").value(), nullptr, {}, {},
                {.wall_ms = kRule.wall_ms, .retention_days = 0});
  const auto submit = [&](int64_t wall_ms) {
    return ingest
        .Submit(EncodeBatch({ReportWith([&](SampleReport* report) {
          report->header.id = report->header.hang_id = base::CreateUuidV7(wall_ms);
          report->header.start_wall_ms = wall_ms;
        })}))
        .value();
  };
  EXPECT_EQ(submit(kTooOldMs).accepted, 1);
  EXPECT_EQ(submit(kTooNewMs).refused, 1);
}

// A clock that jumped must not make every report be refused.
TEST(TimeBounds, AJumpOfTheWallClockLeavesReportsOfBothTimes) {
  for (const int64_t jump_ms : {100 * kMsOfADay, -100 * kMsOfADay}) {
    const TimeBounds bounds = TimeBounds::Of({.wall_ms = [=] { return kNowMs + jump_ms; },
                                              .steady_wall_ms = [] { return kNowMs; },
                                              .retention_days = kDays});
    for (const int64_t wall_ms : {kNowMs, kNowMs + jump_ms}) {
      const report::HangEnd end{.report_id = base::CreateUuidV7(wall_ms), .duration_ns = 1};
      EXPECT_TRUE(CheckTimes(end, bounds).ok()) << jump_ms;
    }
    const report::HangEnd later{.report_id = base::CreateUuidV7(kNowMs + 102 * kMsOfADay), .duration_ns = 1};
    EXPECT_FALSE(CheckTimes(later, bounds).ok());
  }
}

// A batch of only malformed records is an error; one of only refused ones is not.
TEST_F(TimeBoundsTest, ARefusedRecordIsRefusedAlone) {
  const std::string good = SampleReport().Encode();
  const std::string bad =
      ReportWith([](SampleReport* report) { report->header.start_wall_ms = kBeyondDatesMs; });
  const IngestResult result = ingest_.Submit(EncodeBatch({good, bad, "no report"})).value();
  EXPECT_EQ(result.accepted, 1);
  EXPECT_EQ(result.rejected, 2);
  EXPECT_EQ(result.refused, 1);
  EXPECT_EQ(ingest_.Submit(EncodeBatch({bad, "no report"}))->refused, 1);
}

// A server whose ingest has the rule.
class RefusalHttpTest : public TimeBoundsTest {
 protected:
  Metrics metrics_;
  KeyRing keys_{{{testing::kKey, Access::kAdmin}}};
  Router router_{CollectorEndpoints({.ingest = &ingest_,
                                     .commits = &collector_.commits,
                                     .query_api = &collector_.query_api,
                                     .keys = &keys_,
                                     .metrics = &metrics_},
                                    {}),
                 &keys_};
  std::unique_ptr<HttpServer> server_ =
      std::move(HttpServer::Start({.listen = {"127.0.0.1", 0}, .threads = 1}, &router_).value());
};

TEST_F(RefusalHttpTest, AnUploadIsAnsweredWithWhatWasRefused) {
  const std::string bad =
      ReportWith([](SampleReport* report) { report->header.start_wall_ms = kBeyondDatesMs; });
  const Answer answer = Client(server_->port()).Post(EncodeBatch({SampleReport().Encode(), bad}));
  EXPECT_EQ(answer.status, 200) << answer.text;
  EXPECT_EQ(answer.json()["accepted"], 1);
  EXPECT_EQ(answer.json()["rejected"], 1);
  EXPECT_EQ(answer.json()["refused"], 1);
  EXPECT_EQ(answer.json()["results"][0]["record"], 1);
  EXPECT_EQ(answer.json()["results"][0]["result"], "rejected");
  EXPECT_EQ(answer.json()["results"][0]["refused"], true);
  EXPECT_THAT(metrics_.ToText(), HasSubstr(R"(lagwatch_records_total{result="refused"} 1)"));
  EXPECT_THAT(metrics_.ToText(), HasSubstr(R"(lagwatch_records_total{result="rejected"} 0)"));
}

TEST_F(RefusalHttpTest, ASentryEventIsAnsweredWithItsRefusal) {
  Client client(server_->port());
  client.headers = {"X-Sentry-Auth: Sentry sentry_version=7, sentry_key=" + std::string(testing::kKey),
                    "Content-Type: application/x-sentry-envelope"};
  const std::string body = testing::EnvelopeOf(testing::kNativeHang);  // of 2026, ahead of this clock
  const Answer answer = client.Perform("POST", "/api/1/envelope/", &body);
  EXPECT_EQ(answer.status, 400);
  EXPECT_THAT(answer.text, HasSubstr(R"("code":"refused")"));
  EXPECT_EQ(collector_.Get("/v1/reports").size(), 0u);
}

}  // namespace
}  // namespace lagwatch::collector
