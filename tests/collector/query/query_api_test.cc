// SPDX-License-Identifier: Apache-2.0
#include "collector/query/query_api.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/collector/memory_collector.h"

namespace lagwatch::collector {
namespace {

using ::testing::ElementsAre;
using testing::EncodeBatch;
using testing::EncodeEnd;
using ::testing::IsEmpty;
using testing::KeysOf;
using testing::MemoryCollector;
using testing::SampleReport;
using ::testing::SizeIs;

SampleReport ReportOf(std::vector<std::string> stack, int64_t elapsed_ms, std::string_view version = "2.3.1",
                      std::string_view user = "u-1") {
  SampleReport report{.stack = std::move(stack)};
  report.header.elapsed_ns = elapsed_ms * 1'000'000;
  report.header.app_version = version;
  report.header.user = user;
  return report;
}

TEST(QueryApi, ListsTheCostliestClusterFirst) {
  MemoryCollector collector;
  collector.Submit({ReportOf({"Save", "OnSave"}, 3000), ReportOf({"Lookup", "OnKey", "Loop"}, 2000, "2.3.0"),
                    ReportOf({"Lookup", "OnKey", "Paste"}, 2500, "2.3.1", "u-2")});
  Json clusters = collector.Get("/v1/clusters");
  ASSERT_THAT(clusters, SizeIs(2));
  const Json& lookup = clusters[0];
  EXPECT_THAT(KeysOf(lookup),
              ElementsAre("key", "level", "parent", "frames", "via", "held_by", "reports", "hangs", "users",
                          "hang_ms", "estimated", "capped", "share", "hang_ms_per_hour", "duration_ms",
                          "verdict_ms", "apps", "versions", "more_apps", "more_versions", "first_version",
                          "last_version", "first_seen_ms", "last_seen_ms", "children", "lags", "title",
                          "link", "state", "fixed_in", "is_split", "merged", "not_seen_since"));
  EXPECT_THAT(lookup["frames"], ElementsAre("Lookup", "OnKey"));
  EXPECT_EQ(lookup["hang_ms"], 4500);
  EXPECT_EQ(lookup["reports"], 2);
  EXPECT_EQ(lookup["users"], 2);
  EXPECT_EQ(lookup["duration_ms"], Json::parse(R"({"p50": 2000, "p95": 2500, "max": 2500})"));
  EXPECT_THAT(lookup["versions"], ElementsAre("2.3.0", "2.3.1"));
  ASSERT_THAT(lookup["children"], SizeIs(2));
  EXPECT_THAT(lookup["children"][0]["frames"], ElementsAre("Lookup", "OnKey", "Paste"));
  EXPECT_EQ(lookup["children"][0]["parent"], lookup["key"]);
}

TEST(QueryApi, ListsLevel2OnItsOwn) {
  MemoryCollector collector;
  collector.Submit({ReportOf({"A", "B", "C", "D", "E"}, 2000), ReportOf({"A", "B", "C", "D", "F"}, 2000)});
  Json clusters = collector.Get("/v1/clusters", "level=2");
  ASSERT_THAT(clusters, SizeIs(1));
  EXPECT_EQ(clusters[0]["level"], 2);
  EXPECT_THAT(clusters[0]["frames"], ElementsAre("A", "B", "C", "D"));
  EXPECT_THAT(clusters[0]["children"], IsEmpty());
}

TEST(QueryApi, CountsAHangOnceWithinACluster) {
  MemoryCollector collector;
  SampleReport first = ReportOf({"A", "B"}, 2000);
  SampleReport second = ReportOf({"A", "B"}, 4000);
  second.header.hang_id = first.header.id;
  second.header.ordinal = 1;
  collector.Submit({first, second});
  EXPECT_EQ(collector.Get("/v1/clusters")[0]["hang_ms"], 4000);
  collector.Submit({}, {EncodeEnd(first.header.id, 7'123'456'789)});
  Json cluster = collector.Get("/v1/clusters")[0];
  EXPECT_EQ(cluster["hang_ms"], 7123.457);
  EXPECT_EQ(cluster["hangs"], 1);
  EXPECT_EQ(cluster["reports"], 2);
}

// A report as a user sends it whose day is sampled.
std::string Sampled(const SampleReport& report, uint32_t rate_ppm, uint64_t cause) {
  std::string encoded = report.Encode();
  report::AppendSampleRate(report::RecordType::kReport, rate_ppm, &encoded);
  report::AppendCause(cause, &encoded);
  return encoded;
}

std::string LossesOf(std::vector<report::Loss> losses) {
  return report::EncodeLosses(
      {.id = base::CreateUuidV7(1), .app = "editor", .app_version = "2.3.1", .losses = std::move(losses)});
}

TEST(QueryApi, ASampledReportStandsForThoseThatAreNot) {
  MemoryCollector collector;
  std::string batch =
      EncodeBatch({Sampled(ReportOf({"Rare"}, 9000), 0, 1), Sampled(ReportOf({"Often"}, 1000), 50'000, 2)});
  ASSERT_TRUE(collector.ingest.Submit(batch).ok());
  Json clusters = collector.Get("/v1/clusters");
  EXPECT_THAT(clusters[0]["frames"], ElementsAre("Often"));
  EXPECT_EQ(clusters[0]["estimated"], Json::parse(R"({"hangs": 20.0, "hang_ms": 20000.0, "lags": 20.0})"));
  EXPECT_EQ(clusters[0]["hang_ms"], 1000);
  EXPECT_EQ(clusters[1]["estimated"], Json::parse(R"({"hangs": 1.0, "hang_ms": 9000.0, "lags": 1.0})"));
}

TEST(QueryApi, LossesCountAsReportsOfTheirCause) {
  MemoryCollector collector;
  std::string batch = EncodeBatch({Sampled(ReportOf({"Often"}, 1000), 500'000, 2)});
  using report::LossReason;
  report::AppendToBatch({report::RecordType::kLosses, LossesOf({{LossReason::kCauseIsFull, 2, 10, 500'000},
                                                                {LossReason::kNotSampled, 2, 1000, 500'000},
                                                                {LossReason::kRefused, 77, 5, 0}})},
                        &batch);
  ASSERT_TRUE(collector.ingest.Submit(batch).ok());
  ASSERT_EQ(collector.ingest.Submit(batch)->duplicates, 2);  // sent again, and counted once
  EXPECT_EQ(collector.Get("/v1/clusters")[0]["estimated"],
            Json::parse(R"({"hangs": 22.0, "hang_ms": 22000.0, "lags": 22.0})"));
  Json losses = collector.Get("/v1/losses", "app=editor");
  ASSERT_THAT(losses, SizeIs(3));
  EXPECT_EQ(losses[0]["reason"], "not-sampled");
  EXPECT_EQ(losses[0]["estimated"]["reports"], 1000.0);
  EXPECT_EQ(losses[1], Json::parse(R"({"app": "editor", "version": "2.3.1", "reason": "cause-is-full",
      "cause_key": "0000000000000002", "reports": 10, "estimated": {"reports": 20.0}})"));
  EXPECT_EQ(collector.Get("/v1/losses", "app=other"), Json::array());
}

// The names of frames are more precise than the client's key of the cause.
TEST(QueryApi, AClusterAloneHasItsShareOfTheLossesOfACauseAndNoMore) {
  MemoryCollector collector;
  std::string batch =
      EncodeBatch({Sampled(ReportOf({"One"}, 1000), 0, 2), Sampled(ReportOf({"Two"}, 1000), 0, 2)});
  report::AppendToBatch(
      {report::RecordType::kLosses, LossesOf({{report::LossReason::kCauseIsFull, 2, 10, 0}})}, &batch);
  ASSERT_TRUE(collector.ingest.Submit(batch).ok());
  for (const Json& listed : collector.Get("/v1/clusters")) {
    EXPECT_EQ(listed["estimated"]["hangs"], 6.0);
    const std::string key = listed["key"];
    EXPECT_EQ(collector.Get("/v1/clusters/" + key)["estimated"], listed["estimated"]);
    EXPECT_EQ(collector.Get("/v1/clusters", "cluster=" + key)[0]["estimated"]["hangs"], 6.0);
  }
}

TEST(QueryApi, FiltersClustersAndReports) {
  MemoryCollector collector;
  SampleReport other = ReportOf({"X", "Y"}, 9000, "9.9");
  other.header.app = "player & co";
  collector.Submit({ReportOf({"A", "B"}, 2000), ReportOf({"A", "B"}, 3000, "2.4"), other});
  EXPECT_EQ(collector.Get("/v1/clusters", "app=editor")[0]["hang_ms"], 5000);
  EXPECT_EQ(collector.Get("/v1/clusters", "app=editor&version=2.4")[0]["hang_ms"], 3000);
  EXPECT_THAT(collector.Get("/v1/clusters", "limit=1"), SizeIs(1));
  EXPECT_THAT(collector.Get("/v1/reports", "app=player%20%26%20co"), SizeIs(1));
  std::string key = collector.Get("/v1/clusters", "app=editor")[0]["key"];
  EXPECT_THAT(collector.Get("/v1/reports", "cluster=" + key), SizeIs(2));
}

TEST(QueryApi, ShowsAClusterWithItsNewestStackAndReports) {
  MemoryCollector collector;
  SampleReport old_report = ReportOf({"A", "B", "C"}, 2000);
  collector.Submit({old_report});
  SampleReport new_report = ReportOf({"A", "B", "D"}, 2000);
  new_report.header.id = new_report.header.hang_id = base::CreateUuidV7(1'800'000'000'000);
  collector.Submit({new_report});
  std::string key = collector.Get("/v1/clusters")[0]["key"];
  Json cluster = collector.Get("/v1/clusters/" + key);
  EXPECT_EQ(cluster["key"], key);
  EXPECT_THAT(cluster["children"], SizeIs(2));
  EXPECT_EQ(cluster["stack"][2]["function"], "D");
  EXPECT_THAT(cluster["report_ids"],
              ElementsAre(base::ToString(new_report.header.id), base::ToString(old_report.header.id)));
  std::string child_key = cluster["children"][0]["key"];
  EXPECT_EQ(collector.Get("/v1/clusters/" + child_key)["level"], 2);
}

TEST(QueryApi, AClusterIsShownByAHangThatIsLikeMostOfItsOwn) {
  MemoryCollector collector;
  std::vector<SampleReport> reports;
  for (int64_t elapsed_ms : {60'000, 2000, 2100, 1900, 300})
    reports.push_back(ReportOf({"A", "B"}, elapsed_ms));
  collector.Submit(reports);
  const std::string key = collector.Get("/v1/clusters")[0]["key"];
  EXPECT_EQ(collector.Get("/v1/clusters/" + key)["representative"], base::ToString(reports[1].header.id));
}

TEST(QueryApi, AClusterHasItsHours) {
  constexpr uint64_t kHourMs = 3'600'000;
  MemoryCollector collector;
  std::vector<SampleReport> reports;
  for (uint64_t hour : {480'000, 480'002, 480'002}) {
    reports.push_back(ReportOf({"A", "B"}, 2000));
    reports.back().header.start_wall_ms = hour * kHourMs + 7;
    reports.back().header.id = reports.back().header.hang_id =
        base::CreateUuidV7(static_cast<int64_t>(hour * kHourMs));
  }
  collector.Submit(reports);
  const std::string key = collector.Get("/v1/clusters")[0]["key"];
  const Json hours = collector.Get("/v1/clusters/" + key, "trend=hour")["hours"];
  ASSERT_THAT(hours, SizeIs(2));
  EXPECT_EQ(hours[0]["begin_ms"], 480'000 * kHourMs);
  EXPECT_EQ(hours[1]["begin_ms"], 480'002 * kHourMs);
  EXPECT_EQ(hours[1]["hangs"], 2);
  EXPECT_EQ(hours[1]["hang_ms"], 4000);
}

TEST(QueryApi, AClusterIsCountedWithinAFilter) {
  MemoryCollector collector;
  collector.Submit({ReportOf({"A", "B"}, 2000, "1"), ReportOf({"A", "B"}, 3000, "2", "u-2")});
  const std::string path = "/v1/clusters/" + std::string(collector.Get("/v1/clusters")[0]["key"]);
  EXPECT_EQ(collector.Get(path)["hang_ms"], 5000);
  EXPECT_EQ(collector.Get(path, "version=2")["hang_ms"], 3000);
  EXPECT_EQ(collector.Get(path, "user=u-1")["hang_ms"], 2000);
  EXPECT_EQ(collector.query_api.Get(path, "version=3").status, 404);
}

TEST(QueryApi, HangTimeIsMeasuredAgainstTheTimeThatWasWatched) {
  MemoryCollector collector;
  std::string batch = EncodeBatch({ReportOf({"A", "B"}, 2000, "1").Encode()});
  const report::Usage usage{.id = base::CreateUuidV7(1),
                            .app = "editor",
                            .app_version = "1",
                            .loops = {{"ui", {.watched_ns = 4 * 3'600'000'000'000}}}};
  report::AppendToBatch({report::RecordType::kUsage, testing::EncodeUsage(usage)}, &batch);
  ASSERT_TRUE(collector.ingest.Submit(batch).ok());
  EXPECT_EQ(collector.Get("/v1/clusters")[0]["hang_ms_per_hour"], 500);
  EXPECT_EQ(collector.Get("/v1/clusters", "version=1")[0]["hang_ms_per_hour"], 500);
  collector.Submit({ReportOf({"A", "B"}, 2000, "2")});
  EXPECT_EQ(collector.Get("/v1/clusters", "version=2")[0]["hang_ms_per_hour"], Json());
}

TEST(QueryApi, ListsAreHadAsCsvToo) {
  MemoryCollector collector;
  collector.Submit({ReportOf({"Save", "OnSave"}, 3000)});
  const Response csv = collector.query_api.Get("/v1/clusters", "format=csv");
  EXPECT_EQ(csv.content_type, "text/csv; charset=utf-8");
  EXPECT_THAT(csv.body, ::testing::StartsWith("key,level,parent,frames,via,"));
  EXPECT_THAT(csv.body, ::testing::HasSubstr(",Save < OnSave,"));
  EXPECT_EQ(collector.query_api.Get("/v1/clusters", "format=xml").status, 400);
  const std::string key = collector.Get("/v1/clusters")[0]["key"];
  EXPECT_EQ(collector.query_api.Get("/v1/clusters/" + key, "format=csv").status, 400);
}

TEST(QueryApi, TellsWhichSymbolsAreMissing) {
  MemoryCollector collector;
  collector.Submit({ReportOf({"@0x1f", "B"}, 2000), ReportOf({"A", "B"}, 2000)});
  EXPECT_EQ(collector.Get("/v1/missing-symbols"),
            Json::parse(R"([{"build_id": "01abff", "module": "/usr/bin/editor", "app": "editor",
                             "version": "2.3.1", "reports": 1}])"));
}

// Nothing hung: there is nothing to sum up.
TEST(QueryApi, ACauseThatOnlyDumpsHaveIsNoCluster) {
  MemoryCollector collector;
  SampleReport dump = ReportOf({"A", "B"}, 0);
  dump.header.kind = report::HangKind::kDump;
  collector.Submit({dump});
  const std::string key = collector.store->Reports({}, 1)->front().level1_key;
  EXPECT_EQ(collector.Get("/v1/clusters"), Json::array());
  EXPECT_EQ(collector.query_api.Get("/v1/clusters/" + key, "").status, 404);
}

report::FrameSliceView FramesOf(int number, const char* scene, const char* user,
                                const policies::FrameTotals& frames) {
  return {.id = base::CreateUuidV7(1'700'000'000'000 + number),
          .session_id = base::CreateUuidV7(1'700'000'000'000),
          .app = "editor",
          .app_version = "2.3.1",
          .user = user,
          .loop = "ui",
          .scene = scene,
          .begin_wall_ms = 1'700'000'000'000 + number,
          .duration_ns = 9'000'000'000,
          .refresh_interval_ns = 10'000'000,
          .frames = frames};
}

TEST(QueryApi, SumsFramesByScene) {
  MemoryCollector collector;
  std::vector<report::FrameSliceView> slices = {
      FramesOf(1, "inbox", "u-1",
               {.frames = 10,
                .dropped = 30,
                .by_level = {6, 3, 1},
                .by_stage_ns = {1'000'000, 0, 0, 0, 7'000'000}}),
      FramesOf(2, "inbox", "u-2",
               {.frames = 10, .dropped = 50, .by_level = {9, 0, 0, 0, 1}, .by_stage_ns = {}}),
      FramesOf(3, "editor", "", {.frames = 100, .dropped = 0, .by_level = {100}, .by_stage_ns = {}})};
  EXPECT_EQ(collector.SubmitFrames(slices).accepted, 3);
  EXPECT_EQ(collector.SubmitFrames(slices).duplicates, 3);

  Json frames = collector.Get("/v1/frames");
  ASSERT_EQ(frames.size(), 2u);
  EXPECT_EQ(frames[0]["scene"], "inbox");
  EXPECT_EQ(frames[0]["app"], "editor");
  EXPECT_EQ(frames[0]["version"], "2.3.1");
  EXPECT_EQ(frames[0]["loop"], "ui");
  EXPECT_EQ(frames[0]["slices"], 2);
  EXPECT_EQ(frames[0]["users"], 2);
  EXPECT_EQ(frames[0]["last_seen_ms"], 1'700'000'009'002);
  EXPECT_EQ(frames[0]["frames"], 20);
  EXPECT_EQ(frames[0]["dropped"], 80);
  EXPECT_EQ(frames[0]["refresh_hz"], 100.0);
  EXPECT_EQ(frames[0]["fps"], 20.0);
  EXPECT_EQ(frames[0]["levels"],
            Json::parse(R"({"best": 15, "normal": 3, "middle": 1, "high": 0, "frozen": 1})"));
  EXPECT_EQ(frames[0]["stage_ms"]["draw"], 7.0);
  EXPECT_EQ(frames[0]["stage_ms"]["other"], 1.0);
  EXPECT_EQ(frames[1]["users"], 0);
  EXPECT_EQ(frames[1]["fps"], 100.0);
  EXPECT_EQ(collector.Get("/v1/frames", "limit=1").size(), 1u);
  EXPECT_EQ(collector.Get("/v1/frames", "app=nobody").size(), 0u);
  EXPECT_EQ(collector.Get("/v1/reports").size(), 0u);
}

TEST(QueryApi, SurvivesFramesOfAHostileClient) {
  MemoryCollector collector;
  policies::FrameTotals most{.frames = UINT64_MAX, .dropped = UINT64_MAX, .by_level = {}, .by_stage_ns = {}};
  most.by_level.fill(UINT64_MAX);
  most.by_stage_ns.fill(UINT64_MAX);
  std::vector<report::FrameSliceView> slices = {FramesOf(1, "inbox", "", most),
                                                FramesOf(2, "inbox", "", most)};
  for (report::FrameSliceView& slice : slices) {
    slice.begin_wall_ms = slice.duration_ns = slice.refresh_interval_ns = INT64_MAX;
  }
  collector.SubmitFrames(slices);
  EXPECT_EQ(collector.Get("/v1/frames")[0]["frames"], INT64_MAX);

  const std::string text(2000, 'x');
  report::FrameSliceView too_long = FramesOf(3, text.c_str(), "", {});
  std::string batch;
  report::AppendToBatch({report::RecordType::kFrameSlice, testing::EncodeFrames(too_long)}, &batch);
  EXPECT_EQ(collector.ingest.Submit(batch).status().code(), base::StatusCode::kInvalid);
}

TEST(QueryApi, FindsAReportByTheBeginningOfItsId) {
  MemoryCollector collector;
  SampleReport first, second;
  first.header.id = *base::TryParseUuid("018bcfe5-6800-7000-8000-000000000001");
  second.header.id = *base::TryParseUuid("018bcfe5-6801-7000-8000-000000000002");
  collector.Submit({first, second});
  EXPECT_EQ(collector.Get("/v1/reports/018bcfe5-6801")["id"], "018bcfe5-6801-7000-8000-000000000002");
  EXPECT_EQ(collector.query_api.Get("/v1/reports/018b", "").status, 400);
  EXPECT_EQ(collector.query_api.Get("/v1/reports/018c", "").status, 404);
  EXPECT_EQ(collector.query_api.Get("/v1/reports/no-id", "").status, 400);
}

TEST(QueryApi, SaysWhatIsWrong) {
  MemoryCollector collector;
  EXPECT_EQ(collector.query_api.Get("/v1/clusters", "level=3").status, 400);
  EXPECT_EQ(collector.query_api.Get("/v1/clusters", "limit=many").status, 400);
  EXPECT_EQ(collector.query_api.Get("/v1/clusters", "app=%").status, 400);
  EXPECT_EQ(collector.query_api.Get("/v1/clusters/0123", "").status, 404);
  EXPECT_EQ(collector.query_api.Get("/v1/nothing", "").status, 404);
  Json error = collector.Get("/v1/clusters", "level=3")["error"];
  EXPECT_EQ(error["code"], "invalid");
  EXPECT_EQ(error["message"], "level must be a number from 1 to 2");
}

TEST(QueryApi, ShowsTextsThatAreNoUtf8) {
  MemoryCollector collector;
  SampleReport report;
  report.header.tag = "\xff<tag>";
  collector.Submit({report});
  EXPECT_EQ(collector.Get("/v1/reports")[0]["tag"], "\uFFFD<tag>");
}

}  // namespace
}  // namespace lagwatch::collector
