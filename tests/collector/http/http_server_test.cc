// SPDX-License-Identifier: Apache-2.0
#include "collector/http/server/http_server.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <future>

#include "collector/http/endpoints.h"
#include "tests/collector/http/gzip_text.h"
#include "tests/collector/http/http_client.h"
#include "tests/collector/memory_collector.h"

namespace lagwatch::collector {
namespace {

using testing::Answer;
using testing::Client;
using testing::EncodeBatch;
using testing::GzipText;
using ::testing::HasSubstr;
using testing::kKey;
using testing::RawConnection;
using testing::SampleReport;
using ::testing::StartsWith;

class HttpServerTest : public ::testing::Test {
 protected:
  static constexpr BodyLimits kLimits{.body_bytes = 10'000, .inflated_bytes = 50'000};

  std::unique_ptr<HttpServer> Start(const HttpLimits& limits) {
    return std::move(
        HttpServer::Start({.listen = {"127.0.0.1", 0}, .threads = 2, .limits = limits}, &router_).value());
  }

  testing::MemoryCollector collector_;
  Metrics metrics_;
  base::Status store_status_;
  KeyRing keys_{{{kKey, Access::kAdmin}, {"k_other", Access::kRead}, {"k_project", Access::kProject}}};
  Router router_{CollectorEndpoints({.ingest = &collector_.ingest,
                                     .commits = &collector_.commits,
                                     .query_api = &collector_.query_api,
                                     .keys = &keys_,
                                     .metrics = &metrics_,
                                     .check_store = [this] { return store_status_; }},
                                    kLimits),
                 &keys_};
  std::unique_ptr<HttpServer> server_ = Start({});
  Client client_{server_->port()};
};

TEST_F(HttpServerTest, TakesReportsAndShowsThem) {
  Answer answer = client_.PostGzip(EncodeBatch({SampleReport().Encode()}));
  EXPECT_EQ(answer.status, 200);
  EXPECT_EQ(answer.json(),
            Json::parse(
                R"({"accepted": 1, "duplicates": 0, "rejected": 0, "refused": 0, "over_quota": 0,
              "packed_version": 2, "results": []})"));
  EXPECT_EQ(client_.Get("/v1/clusters?level=2").json()[0]["frames"][0], "Leaf");
}

TEST_F(HttpServerTest, TakesUncompressedReportsToo) {
  EXPECT_EQ(client_.Post(EncodeBatch({SampleReport().Encode()})).json()["accepted"], 1);
}

TEST_F(HttpServerTest, CountsADuplicateUpload) {
  std::string batch = EncodeBatch({SampleReport().Encode()});
  client_.Post(batch);
  EXPECT_EQ(client_.Post(batch).json(),
            Json::parse(R"({"accepted": 0, "duplicates": 1, "rejected": 0, "refused": 0, "over_quota": 0,
                             "packed_version": 2, "results": [{"record": 0, "result": "duplicate"}]})"));

  Json partly = client_.Post(EncodeBatch({"no report", SampleReport().Encode()})).json();
  EXPECT_EQ(partly["rejected"], 1);
  ASSERT_EQ(partly["results"].size(), 1u);
  EXPECT_EQ(partly["results"][0]["record"], 0);
  EXPECT_EQ(partly["results"][0]["result"], "rejected");
  EXPECT_THAT(partly["results"][0]["why"].get<std::string>(), HasSubstr("the report"));
}

TEST_F(HttpServerTest, KeepsTheConnection) {
  EXPECT_EQ(client_.Get("/healthz").new_connections, 1);
  EXPECT_EQ(client_.Get("/v1/clusters").new_connections, 0);
  EXPECT_EQ(client_.Post(EncodeBatch({})).new_connections, 0);
}

TEST_F(HttpServerTest, NeedsAKeyButForItsHealth) {
  for (const char* authorization : {"X-None: 1", "Authorization: Bearer k_tesx", "Authorization: Bearer ",
                                    "Authorization: Basic k_test", "Authorization: k_test"}) {
    client_.headers = {authorization, "Content-Type: application/x-protobuf"};
    Answer answer = client_.Get("/v1/clusters");
    EXPECT_EQ(answer.status, 401) << authorization;
    EXPECT_EQ(answer.json()["error"]["code"], "unauthorized");
    EXPECT_EQ(client_.Get("/healthz").text, R"({"status":"ok"})");
  }
  EXPECT_EQ(client_.Post(EncodeBatch({SampleReport().Encode()})).status, 401);
  client_.headers = {"Authorization: bearer  k_other"};
  EXPECT_EQ(client_.Get("/v1/clusters").text, "[]");
}

TEST_F(HttpServerTest, SaysThatItIsReadyAndCounts) {
  EXPECT_EQ(client_.Get("/readyz").status, 200);
  client_.Post(EncodeBatch({SampleReport().Encode()}));
  Answer metrics = client_.Get("/metrics");
  EXPECT_THAT(metrics.head, HasSubstr("Content-Type: text/plain"));
  EXPECT_THAT(metrics.text, HasSubstr(R"(lagwatch_records_total{result="accepted"} 1)"));
  client_.headers.clear();
  EXPECT_EQ(client_.Get("/metrics").status, 401);
  EXPECT_EQ(client_.Get("/readyz").status, 200);
  store_status_ = {base::StatusCode::kUnavailable, "the disk is gone"};
  EXPECT_EQ(client_.Get("/readyz").status, 503);
  EXPECT_EQ(client_.Get("/healthz").status, 200);
}

TEST_F(HttpServerTest, LetsEachKeyDoItsOwnAndNoMore) {
  const std::string batch = EncodeBatch({SampleReport().Encode()});
  auto with = [&](const char* key) {
    client_.headers = {std::string("Authorization: Bearer ") + key, "Content-Type: application/x-protobuf"};
  };
  with("k_project");
  EXPECT_EQ(client_.Post(batch).status, 200);
  EXPECT_EQ(client_.Get("/v1/config").status, 404);  // there is none
  for (const char* path : {"/v1/clusters", "/v1/reports", "/v1/clusters/1", "/v1/usage", "/v1/losses"}) {
    Answer answer = client_.Get(path);
    EXPECT_EQ(answer.status, 403) << path;
    EXPECT_EQ(answer.json()["error"]["code"], "forbidden");
  }
  with("k_other");
  EXPECT_EQ(client_.Post(batch).status, 403);
  EXPECT_EQ(client_.Get("/v1/clusters").status, 200);
  with(kKey);
  EXPECT_EQ(client_.Post(batch).status, 200);
  EXPECT_EQ(client_.Get("/v1/clusters").status, 200);
}

// The head says that a body will come; the answer comes before it does.
TEST_F(HttpServerTest, RefusesAWrongKeyWithoutTheBody) {
  RawConnection connection(server_->port());
  connection.Send("POST /v1/reports HTTP/1.1\r\nHost: x\r\nContent-Length: 9000\r\n\r\n");
  EXPECT_THAT(connection.ReceiveAll(), StartsWith("HTTP/1.1 401"));
}

TEST_F(HttpServerTest, RefusesABodyOverTheLimit) {
  std::string body(kLimits.body_bytes + 1, 'x');
  Answer answer = client_.Post(body);
  EXPECT_EQ(answer.status, 413);
  EXPECT_EQ(answer.json()["error"]["code"], "too_large");
  client_.headers.push_back("Transfer-Encoding: chunked");
  EXPECT_EQ(client_.Post(body).status, 413);
}

TEST_F(HttpServerTest, AnswersAClientThatSendsFarTooMuch) {
  client_.headers.push_back("Expect:");
  EXPECT_EQ(client_.Post(std::string(4 << 20, 'x')).status, 413);
}

TEST_F(HttpServerTest, RefusesABodyThatInflatesOverTheLimit) {
  EXPECT_EQ(client_.PostGzip(std::string(kLimits.inflated_bytes + 1, '\0')).status, 413);
}

TEST_F(HttpServerTest, RefusesWhatIsNoBatch) {
  EXPECT_EQ(client_.Post("no batch").status, 400);
  client_.headers.push_back("Content-Encoding: gzip");
  Answer answer = client_.Post("no gzip");
  EXPECT_EQ(answer.status, 400);
  EXPECT_EQ(answer.json()["error"]["code"], "invalid");
}

TEST_F(HttpServerTest, RefusesOtherTypesAndEncodings) {
  client_.headers[1] = "Content-Type: application/json";
  EXPECT_EQ(client_.Post("{}").status, 415);
  client_.headers[1] = "Content-Type: application/x-protobuf; version=1";
  EXPECT_EQ(client_.Post("").status, 200);
  client_.headers.push_back("Content-Encoding: br");
  EXPECT_EQ(client_.Post("").status, 415);
}

TEST_F(HttpServerTest, KnowsItsPathsAndMethods) {
  EXPECT_EQ(client_.Get("/v1/nothing").status, 404);
  EXPECT_EQ(client_.Get("/").status, 404);
  EXPECT_EQ(client_.Get("/v1/reports/00000000-0000-0000-0000-000000000001").status, 404);
  EXPECT_EQ(client_.Get("/v1/clusters?level=9").status, 400);
  EXPECT_EQ(client_.Perform("DELETE", "/v1/reports", nullptr).status, 405);
  std::string body = "x";
  EXPECT_EQ(client_.Perform("POST", "/v1/clusters", &body).status, 405);
  EXPECT_EQ(client_.Perform("PUT", "/healthz", &body).status, 405);
}

// On one connection: what follows an answer is the next answer's.
TEST_F(HttpServerTest, AnswersHeadAsGetWithoutABody) {
  for (const char* target : {"/healthz", "/v1/clusters", "/v1/reports?limit=3"}) {
    const std::string rest =
        std::string(" ") + target + " HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer " + kKey + "\r\n\r\n";
    RawConnection connection(server_->port());
    connection.Send("GET" + rest);
    const std::string head = connection.ReadUntil("\r\n\r\n");
    connection.Send("HEAD" + rest + "HEAD" + rest + "HEAD" + rest);
    connection.ShutDownSending();
    const std::string heads = connection.ReceiveAll();
    EXPECT_EQ(testing::Count(heads, head), 3u) << target << heads;
    EXPECT_EQ(heads.substr(heads.size() - head.size()), head) << target;
  }
  RawConnection refused(server_->port());
  refused.Send("HEAD /v1/clusters HTTP/1.1\r\nHost: x\r\n\r\n");
  const std::string answer = refused.ReceiveAll();
  EXPECT_THAT(answer, StartsWith("HTTP/1.1 401"));
  EXPECT_TRUE(answer.ends_with("\r\n\r\n")) << answer;
  EXPECT_EQ(client_.Perform("DELETE", "/v1/clusters", nullptr).status, 405);
}

TEST_F(HttpServerTest, RefusesWhatIsNoHttp) {
  for (const char* text : {"garbage\r\n\r\n", "GET / HTTP/1.1\r\nContent-Length: -1\r\n\r\n"}) {
    RawConnection connection(server_->port());
    connection.Send(text);
    EXPECT_THAT(connection.ReceiveAll(), StartsWith("HTTP/1.1 400")) << text;
  }
}

TEST_F(HttpServerTest, RefusesAnEndlessHead) {
  client_.headers.push_back("X-Long: " + std::string(9000, 'x'));
  EXPECT_EQ(client_.Get("/healthz").status, 431);
}

TEST_F(HttpServerTest, SaysWhichPortIsTaken) {
  auto second = HttpServer::Start({.listen = {"127.0.0.1", server_->port()}}, &router_);
  ASSERT_FALSE(second.ok());
  EXPECT_THAT(second.status().message(), HasSubstr("--listen"));
}

TEST_F(HttpServerTest, ClosesAConnectionThatSaysNothing) {
  auto impatient = Start({.head_time = std::chrono::milliseconds(50)});
  RawConnection silent(impatient->port());
  EXPECT_EQ(silent.ReceiveAll(), "");
}

TEST_F(HttpServerTest, AnswersARequestThatHadBegunBeforeItStops) {
  RawConnection idle(server_->port());
  RawConnection busy(server_->port());
  std::string batch = EncodeBatch({SampleReport().Encode()});
  busy.Send(
      "POST /v1/reports HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer k_test\r\n"
      "Content-Type: application/x-protobuf\r\nExpect: 100-continue\r\nContent-Length: " +
      std::to_string(batch.size()) + "\r\n\r\n");
  EXPECT_EQ(client_.Get("/healthz").status, 200);
  auto stopped = std::async(std::launch::async, [&] { server_->Stop(); });
  EXPECT_EQ(idle.ReceiveAll(), "");  // closed at once
  busy.Send(batch);
  std::string received = busy.ReceiveAll();
  EXPECT_THAT(received, StartsWith("HTTP/1.1 100"));
  EXPECT_THAT(received, HasSubstr(R"({"accepted":1,)"));
  stopped.get();
}

}  // namespace
}  // namespace lagwatch::collector
