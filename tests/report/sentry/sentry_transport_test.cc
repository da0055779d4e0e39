// SPDX-License-Identifier: Apache-2.0
// To our own collector, which takes what Sentry's SDKs send.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>

#include "collector/http/endpoints.h"
#include "collector/http/server/http_server.h"
#include "report/sentry/event.h"
#include "report/upload/transport/gzip.h"
#include "report/upload/transport/http_transport.h"
#include "tests/collector/memory_collector.h"
#include "tests/testing/temp_directory.h"

namespace lagwatch::report {
namespace {

using collector::Access;
using collector::Json;
using testing::EncodeEnd;
using ::testing::HasSubstr;
using testing::SampleReport;
using AnswerKind = UploadAnswer::Kind;

class SentryTransportTest : public ::testing::Test {
 protected:
  std::unique_ptr<Transport> TransportOf(const std::string& key) {
    return std::move(CreateSentryTransport({.endpoint = "sentry:http://" + key + "@127.0.0.1:" +
                                                        std::to_string(server_->port()) + "/1"})
                         .value());
  }
  UploadAnswer Post(const std::vector<Record>& records) {
    std::string batch;
    AppendToBatch({RecordType::kPacked, PackBatch(records)}, &batch);
    return transport_->Post(Gzip(batch));
  }
  Json Reports() { return collector_.Get("/v1/reports"); }

  testing::ScopedTempDirectory directory_;
  testing::MemoryCollector collector_;
  collector::KeyFile file_{directory_ / "keys.json"};
  collector::KeyRing keys_{{{"k_test", Access::kProject}}, file_};
  collector::Router router_{collector::CollectorEndpoints({.ingest = &collector_.ingest,
                                                           .commits = &collector_.commits,
                                                           .query_api = &collector_.query_api,
                                                           .keys = &keys_},
                                                          {}),
                            &keys_};
  std::unique_ptr<collector::HttpServer> server_ =
      std::move(collector::HttpServer::Start({.listen = {"127.0.0.1", 0}, .threads = 1}, &router_).value());
  std::unique_ptr<Transport> transport_ = TransportOf("k_test");
};

TEST_F(SentryTransportTest, AReportArrivesAsItWas) {
  SampleReport sample;
  sample.stack = {"_ZN5Index6LookupEi", "_ZN6Editor5OnKeyEv", "main"};
  sample.threads = {{"worker", {"Wait", "Run"}}};
  const std::string report = sample.Encode();
  const std::string end = EncodeEnd(sample.header.id, 5'234'000'000);
  ASSERT_EQ(Post({{RecordType::kReport, report}, {RecordType::kHangEnd, end}}).kind, AnswerKind::kDelivered);
  ASSERT_EQ(Reports().size(), 1u);
  const std::string id = Reports()[0]["id"];
  const Json taken = collector_.Get("/v1/reports/" + id);
  collector_.Submit({sample});
  const Json original = collector_.Get("/v1/reports/" + base::ToString(sample.header.id));
  for (const char* same :
       {"app", "version", "user", "os", "machine", "tag", "tid", "kind", "cause", "expensive_stack"})
    EXPECT_EQ(taken[same], original[same]) << same;
  EXPECT_EQ(taken["duration_ms"], 5234);
  EXPECT_EQ(taken["ended"], true);
  ASSERT_EQ(taken["threads"].size(), original["threads"].size());
  EXPECT_EQ(taken["threads"][1]["stack"], original["threads"][1]["stack"]);
  EXPECT_EQ(taken["cluster"], original["cluster"]);
}

TEST_F(SentryTransportTest, ABatchThatIsSentAgainIsStoredOnce) {
  const std::string report = SampleReport().Encode();
  EXPECT_EQ(Post({{RecordType::kReport, report}}).kind, AnswerKind::kDelivered);
  EXPECT_EQ(Post({{RecordType::kReport, report}}).kind, AnswerKind::kDelivered);
  EXPECT_EQ(Reports().size(), 1u);
}

TEST_F(SentryTransportTest, SealedReportsAndOthersThanHangsAreRefusedAlone) {
  SampleReport dump;
  dump.header.kind = report::HangKind::kDump;
  const std::string dumped = dump.Encode();
  const std::string report = SampleReport().Encode();
  const UploadAnswer answer = Post({{RecordType::kSealed, "sealed"},
                                    {RecordType::kReport, dumped},
                                    {RecordType::kReport, report},
                                    {RecordType::kUsage, ""}});
  EXPECT_EQ(answer.kind, AnswerKind::kDelivered);
  ASSERT_EQ(answer.refusals.size(), 2u);
  EXPECT_EQ(answer.refusals[0].record, 0u);
  EXPECT_THAT(answer.refusals[0].why, HasSubstr("sealed"));
  EXPECT_EQ(answer.refusals[1].record, 1u);
  EXPECT_THAT(answer.refusals[1].why, HasSubstr("dump"));
  EXPECT_EQ(Reports().size(), 1u);
}

TEST_F(SentryTransportTest, AWrongKeyIsNoReasonToForget) {
  transport_ = TransportOf("k_wrong");
  const std::string report = SampleReport().Encode();
  EXPECT_EQ(Post({{RecordType::kReport, report}}).kind, AnswerKind::kUnauthorized);
}

TEST_F(SentryTransportTest, ARateLimitIsWaitedFor) {
  const std::string key =
      file_.Add({.name = "few", .access = Access::kProject, .quota = {.reports_per_s = 0.01}}, 0).value();
  transport_ = TransportOf(key);
  const std::string first = SampleReport().Encode();
  const std::string second = SampleReport().Encode();
  const UploadAnswer answer = Post({{RecordType::kReport, first}, {RecordType::kReport, second}});
  EXPECT_EQ(answer.kind, AnswerKind::kTryLater);
  EXPECT_EQ(answer.http_status, 429);
  EXPECT_EQ(answer.retry_after_s, 100);
  EXPECT_EQ(Reports().size(), 1u);
}

TEST_F(SentryTransportTest, NobodyThereMeansLater) {
  transport_ = std::move(CreateSentryTransport({.endpoint = "sentry:http://k@127.0.0.1:1/1"}).value());
  const std::string report = SampleReport().Encode();
  EXPECT_EQ(Post({{RecordType::kReport, report}}).kind, AnswerKind::kTryLater);
}

TEST_F(SentryTransportTest, ADsnIsNeeded) {
  EXPECT_EQ(CreateSentryTransport({.endpoint = "sentry:https://host/1"}).status().code(),
            base::StatusCode::kInvalid);
}

// A server with scripted answers.
class ScriptedServer {
 public:
  explicit ScriptedServer(std::vector<collector::Response> answers) : answers_(std::move(answers)) {}

  std::unique_ptr<Transport> CreateTransport() const {
    return std::move(CreateSentryTransport(
                         {.endpoint = "sentry:http://k@127.0.0.1:" + std::to_string(server_->port()) + "/1"})
                         .value());
  }
  size_t requests() const { return requests_; }

 private:
  void Answer(const collector::Request&, const collector::Respond& respond) {
    respond(answers_.at(requests_++));
  }

  std::vector<collector::Response> answers_;
  std::atomic<size_t> requests_{0};
  collector::KeyRing keys_{{}};
  collector::Router router_{
      {{.method = "POST",
        .path = "/api/{project}/envelope/",
        .access = collector::kEverybody,
        .runs_on = collector::RunsOn::kIo,
        .handler = [this](const auto& request, const auto& respond) { Answer(request, respond); },
        .body_limit = 1 << 20,
        .takes_gzip = true}},
      &keys_};
  std::unique_ptr<collector::HttpServer> server_ =
      std::move(collector::HttpServer::Start({.listen = {"127.0.0.1", 0}, .threads = 1}, &router_).value());
};

std::string GzipBatchOf(const std::vector<std::string>& reports) {
  return Gzip(testing::EncodeBatch(reports));
}

TEST(SentryServerTest, WhatWasAnsweredIsNotSentAgainWithTheRest) {
  SampleReport first;
  SampleReport second;
  auto accepted = [](const SampleReport& report) {
    return collector::Response{200,
                               R"({"id":")" + SentryEventId(DecodeReport(report.Encode()).value()) + "\"}"};
  };
  ScriptedServer server(
      {accepted(first), collector::ErrorResponse(500, "internal", "no disk"), accepted(second)});
  const auto transport = server.CreateTransport();
  const std::string batch = GzipBatchOf({first.Encode(), second.Encode()});
  EXPECT_EQ(transport->Post(batch).kind, AnswerKind::kTryLater);
  EXPECT_EQ(transport->Post(batch).kind, AnswerKind::kDelivered);
  EXPECT_EQ(server.requests(), 3u);
}

TEST(SentryServerTest, ALoginPageTakesNoReport) {
  ScriptedServer server({{200, "<html>Log in</html>"}, {200, R"({"id":"another"})"}, {400, "<html>"}});
  const auto transport = server.CreateTransport();
  for (int i = 0; i < 3; ++i)
    EXPECT_EQ(transport->Post(GzipBatchOf({SampleReport().Encode()})).kind, AnswerKind::kTryLater) << i;
}

TEST(SentryServerTest, AnEventThatIsRefusedIsSetAside) {
  ScriptedServer server({{400, R"({"detail":"bad event"})"}});
  const UploadAnswer answer = server.CreateTransport()->Post(GzipBatchOf({SampleReport().Encode()}));
  EXPECT_EQ(answer.kind, AnswerKind::kDelivered);
  EXPECT_EQ(answer.refusals.size(), 1u);
}

}  // namespace
}  // namespace lagwatch::report
