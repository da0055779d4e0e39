// SPDX-License-Identifier: Apache-2.0
// Sentry's requests over HTTP: keys, limits, answers, and a real SDK.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "collector/http/endpoints.h"
#include "collector/http/server/http_server.h"
#include "tests/collector/http/gzip_text.h"
#include "tests/collector/http/http_client.h"
#include "tests/collector/memory_collector.h"
#include "tests/collector/sentry/payloads.h"
#include "tests/testing/process.h"
#include "tests/testing/temp_directory.h"

namespace lagwatch::collector {
namespace {

using testing::Answer;
using testing::Client;
using testing::EnvelopeOf;
using testing::GzipText;
using ::testing::HasSubstr;

constexpr char kEnvelopePath[] = "/api/1/envelope/";

class SentryHttpTest : public ::testing::Test {
 protected:
  Answer Post(const std::string& body, const std::string& target = kEnvelopePath,
              const std::string& auth = "X-Sentry-Auth: Sentry sentry_version=7, sentry_key=k_project") {
    Client client(server_->port());
    client.headers = {auth, "Content-Type: application/x-sentry-envelope"};
    if (body.starts_with("\x1f\x8b")) client.headers.push_back("Content-Encoding: gzip");
    return client.Perform("POST", target, &body);
  }
  size_t Reports() { return collector_.Get("/v1/reports").size(); }

  testing::ScopedTempDirectory directory_;
  testing::MemoryCollector collector_;
  Metrics metrics_;
  KeyFile file_{directory_ / "keys.json"};
  KeyRing keys_{{{"a_admin", Access::kAdmin}, {"r_read", Access::kRead}, {"k_project", Access::kProject}},
                file_};
  Router router_{CollectorEndpoints({.ingest = &collector_.ingest,
                                     .commits = &collector_.commits,
                                     .query_api = &collector_.query_api,
                                     .keys = &keys_,
                                     .metrics = &metrics_},
                                    {.body_bytes = 20'000, .inflated_bytes = 50'000}),
                 &keys_};
  std::unique_ptr<HttpServer> server_ = std::move(
      HttpServer::Start({.listen = {"127.0.0.1", 0}, .threads = 1, .metrics = &metrics_}, &router_).value());
};

TEST_F(SentryHttpTest, BodiesAreNotReadOnTheThreadsOfConnections) {
  int found = 0;
  for (const Endpoint& endpoint :
       CollectorEndpoints({.ingest = &collector_.ingest, .query_api = &collector_.query_api}, {})) {
    if (!endpoint.path.starts_with("/api/")) continue;
    ++found;
    EXPECT_EQ(endpoint.runs_on, RunsOn::kParsers) << endpoint.path;
  }
  EXPECT_EQ(found, 2);
}

TEST_F(SentryHttpTest, AnEnvelopeIsAnsweredWithItsEventsId) {
  const Answer answer = Post(GzipText(EnvelopeOf(testing::kNativeHang)));
  EXPECT_EQ(answer.status, 200) << answer.text;
  EXPECT_EQ(answer.text, R"({"id":"9b2e7a4c5d6f40718293a4b5c6d7e8f9"})");
  EXPECT_EQ(Reports(), 1u);
  EXPECT_EQ(Post(EnvelopeOf(testing::kNativeHang)).status, 200);  // again, and as it is
  EXPECT_EQ(Reports(), 1u);
}

TEST_F(SentryHttpTest, AnEventAloneIsTakenAtTheOlderPath) {
  EXPECT_EQ(Post(testing::kCocoaHang, "/api/1/store/").status, 200);
  EXPECT_EQ(Reports(), 1u);
}

TEST_F(SentryHttpTest, TheKeyMayBeInTheHeaderTheQueryOrTheEnvelope) {
  const std::string none = "X-None: 1";
  const std::string body = EnvelopeOf(testing::kNativeHang);
  EXPECT_EQ(Post(body, "/api/1/envelope/?sentry_key=k_project&sentry_version=7", none).status, 200);
  EXPECT_EQ(
      Post(EnvelopeOf(testing::kNativeHang, R"({"dsn":"http://k_project@h/1"})"), kEnvelopePath, none).status,
      200);
  EXPECT_EQ(Post(body, kEnvelopePath, none).status, 401);
  EXPECT_EQ(Post(testing::kNativeHang, "/api/1/store/", none).status, 401);
  EXPECT_EQ(
      Post(EnvelopeOf(testing::kNativeHang, R"({"dsn":"http://k_other@h/1"})"), kEnvelopePath, none).status,
      401);
  EXPECT_EQ(
      Post(EnvelopeOf(testing::kNativeHang, R"({"dsn":"http://r_read@h/1"})"), kEnvelopePath, none).status,
      403);
  EXPECT_EQ(Post(body, kEnvelopePath, "X-Sentry-Auth: Sentry sentry_key=k_other").status, 401);
  EXPECT_EQ(Post(body, kEnvelopePath, "X-Sentry-Auth: Sentry sentry_key=r_read").status, 403);
  EXPECT_EQ(Post(body, kEnvelopePath, "Authorization: Bearer k_project").status, 401);
}

TEST_F(SentryHttpTest, OtherItemsAreDroppedPolitelyAndCounted) {
  EXPECT_EQ(Post("{}\n{\"type\":\"session\"}\n{}\n{\"type\":\"transaction\"}\n{}\n").text, "{}");
  EXPECT_EQ(Reports(), 0u);
  const std::string metrics = metrics_.ToText();
  EXPECT_THAT(metrics, HasSubstr(R"(lagwatch_sentry_items_dropped_total{type="session"} 1)"));
  EXPECT_THAT(metrics, HasSubstr(R"(lagwatch_sentry_items_dropped_total{type="transaction"} 1)"));
}

TEST_F(SentryHttpTest, WhatIsNoEnvelopeIsRefused) {
  EXPECT_EQ(Post("no envelope").status, 400);
  EXPECT_EQ(Post("\x1f\x8b no gzip").status, 400);
  EXPECT_EQ(Post(EnvelopeOf(R"({"exception":[{"type":"AppHang"}]})")).status, 400);
  EXPECT_EQ(Post(std::string(20'001, '{')).status, 413);
  EXPECT_EQ(Post(GzipText(EnvelopeOf(std::string(60'000, ' ')))).status, 413);
  Client client(server_->port());
  EXPECT_EQ(client.Get(kEnvelopePath).status, 405);
}

TEST_F(SentryHttpTest, AQuotaIsToldAsTheSdksExpectIt) {
  const std::string key =
      file_.Add({.name = "few", .access = Access::kProject, .quota = {.reports_per_s = 0.01}}, 0).value();
  const std::string auth = "X-Sentry-Auth: Sentry sentry_key=" + key;
  EXPECT_EQ(Post(EnvelopeOf(testing::kNativeHang), kEnvelopePath, auth).status, 200);
  const std::string by_dsn = EnvelopeOf(testing::kNativeHang, R"({"dsn":"http://)" + key + R"(@h/1"})");
  for (const Answer& answer : {Post(EnvelopeOf(testing::kNativeHang), kEnvelopePath, auth),
                               Post(by_dsn, kEnvelopePath, "X-None: 1")}) {
    EXPECT_EQ(answer.status, 429) << answer.text;
    EXPECT_THAT(answer.head, HasSubstr("Retry-After: 100\r\n"));
    EXPECT_THAT(answer.head, HasSubstr("X-Sentry-Rate-Limits: 100::key\r\n"));
  }
}

// As applications have it, except for the address.
TEST_F(SentryHttpTest, ARealSdkReports) {
  const std::string dsn = "http://k_project@127.0.0.1:" + std::to_string(server_->port()) + "/1";
  testing::Process sdk({"/usr/bin/python3", LAGWATCH_SENTRY_CLIENT, dsn});
  ASSERT_EQ(sdk.Wait(), 0) << sdk.Errors();
  const Json reports = collector_.Get("/v1/reports", "app=editor");
  ASSERT_EQ(reports.size(), 2u);  // one at each path
  EXPECT_EQ(reports[0]["version"], "2.3.1");
  EXPECT_EQ(reports[0]["user"], "u-71");
  EXPECT_EQ(reports[0]["elapsed_ms"], 2000);
  const Json clusters = collector_.Get("/v1/clusters", "level=1");
  ASSERT_EQ(clusters.size(), 1u);
  EXPECT_EQ(clusters[0]["frames"], Json::parse(R"(["__main__.freeze", "__main__.module"])"));
  EXPECT_THAT(metrics_.ToText(), HasSubstr(R"(lagwatch_sentry_items_dropped_total{type="attachment"} 1)"));
  EXPECT_THAT(metrics_.ToText(), HasSubstr(R"(lagwatch_sentry_items_dropped_total{type="event"} 1)"));
}

TEST_F(SentryHttpTest, EventsThatAreNoHangsAreCountedByKind) {
  const std::string stack = R"("stacktrace":{"frames":[{"function":"main"}]})";
  const std::vector<std::string> events = {
      R"({"exception":[{"type":"Error","mechanism":{"type":"onerror","handled":false}}]})",
      R"({"exception":[{"type":"Error","mechanism":{"type":"onerror","handled":false}},{"type":"Cause"}]})",
      R"({"exception":{"values":[{"type":"ValueError","mechanism":{"type":"generic","handled":true}}]}})",
      R"({"message":"hello"})",
      R"({"exception":[{"type":"Stuck","mechanism":{"type":"x","synthetic":true},)" + stack + "}]}"};
  for (const std::string& event : events) EXPECT_EQ(Post(EnvelopeOf(event)).status, 200) << event;
  EXPECT_EQ(Reports(), 0u);
  const std::string metrics = metrics_.ToText();
  for (const char* line :
       {R"({kind="crash"} 2)", R"({kind="error"} 1)", R"({kind="message"} 1)", R"({kind="observed"} 1)"})
    EXPECT_THAT(metrics, HasSubstr(std::string("lagwatch_sentry_events_dropped_total") + line));
}

}  // namespace
}  // namespace lagwatch::collector
