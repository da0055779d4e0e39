// SPDX-License-Identifier: Apache-2.0
// Against a real socket: a server that reads one request a connection and answers what the test says.
#include "report/upload/transport/http_transport.h"

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <future>
#include <string>
#include <thread>
#include <vector>

#include "report/upload/transport/gzip.h"
#include "tests/report/upload/scripted_transport.h"

namespace lagwatch::report {
namespace {

using ::testing::HasSubstr;
using AnswerKind = UploadAnswer::Kind;

class OneAnswerServer {
 public:
  // An empty answer means none at all: the connection hangs.
  explicit OneAnswerServer(std::string answer) : answer_(std::move(answer)) {
    sockaddr_in address{
        .sin_family = AF_INET, .sin_port = 0, .sin_addr = {htonl(INADDR_LOOPBACK)}, .sin_zero = {}};
    socklen_t size = sizeof address;
    listener_ = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    bool is_up = bind(listener_, reinterpret_cast<sockaddr*>(&address), size) == 0 &&
                 listen(listener_, 8) == 0 &&
                 getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &size) == 0;
    if (!is_up) throw std::runtime_error("cannot listen on the loopback interface");
    endpoint_ = "http://127.0.0.1:" + std::to_string(ntohs(address.sin_port));
    thread_ = std::thread(&OneAnswerServer::Serve, this);
  }
  ~OneAnswerServer() {
    shutdown(listener_, SHUT_RDWR);
    thread_.join();
    close(listener_);
  }

  const std::string& endpoint() const { return endpoint_; }
  // The first request, with its body; waits for it.
  std::string Request() { return request_.get_future().get(); }

 private:
  void Serve() {
    std::vector<int> connections;
    for (int connection; (connection = accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC)) >= 0;) {
      connections.push_back(connection);
      std::string request = ReadRequest(connection);
      if (connections.size() == 1) request_.set_value(request);
      if (answer_.empty()) continue;
      send(connection, answer_.data(), answer_.size(), MSG_NOSIGNAL);
      shutdown(connection, SHUT_WR);
    }
    for (int connection : connections) close(connection);
  }

  static std::string ReadRequest(int connection) {
    std::string request;
    char piece[4096];
    for (ssize_t got; !IsWhole(request) && (got = recv(connection, piece, sizeof piece, 0)) > 0;) {
      request.append(piece, static_cast<size_t>(got));
    }
    return request;
  }

  static bool IsWhole(const std::string& request) {
    size_t head_end = request.find("\r\n\r\n");
    size_t length_at = request.find("Content-Length: ");
    if (head_end == std::string::npos) return false;
    const size_t body_bytes = length_at < head_end ? std::stoul(request.substr(length_at + 16)) : 0;
    return request.size() >= head_end + 4 + body_bytes;
  }

  std::string answer_;
  std::string endpoint_;
  int listener_;
  std::promise<std::string> request_;
  std::thread thread_;
};

std::string HttpAnswer(const std::string& status, const std::string& headers = "",
                       const std::string& body = R"({"accepted": 1, "duplicates": 0, "rejected": 0})") {
  return "HTTP/1.1 " + status +
         "\r\nContent-Type: application/json\r\nConnection: close\r\nContent-Length: " +
         std::to_string(body.size()) + "\r\n" + headers + "\r\n" + body;
}

std::unique_ptr<Transport> NewTransport(const std::string& endpoint, const std::string& key = "") {
  auto client = HttpClient::Create({.endpoint = endpoint, .key = key});
  EXPECT_TRUE(client.ok()) << client.status().message();
  return CreateHttpTransport(std::move(client).value());
}

UploadAnswer AnswerTo(const std::string& http_answer) {
  OneAnswerServer server(http_answer);
  return NewTransport(server.endpoint())->Post(Gzip("body"));
}

TEST(HttpTransport, PostsTheBodyWithItsHeaders) {
  OneAnswerServer server(HttpAnswer("200 OK"));
  std::string body(100'000, 'b');
  UploadAnswer answer = NewTransport(server.endpoint() + "/", "k_secret")->Post(Gzip(body));
  EXPECT_EQ(answer.kind, AnswerKind::kDelivered) << answer.message;
  EXPECT_EQ(answer.http_status, 200);
  std::string request = server.Request();
  EXPECT_THAT(request, ::testing::StartsWith("POST /v1/reports HTTP/1.1\r\n"));
  EXPECT_THAT(request, HasSubstr("\r\nAuthorization: Bearer k_secret\r\n"));
  EXPECT_THAT(request, HasSubstr("\r\nContent-Type: application/x-protobuf\r\n"));
  EXPECT_THAT(request, HasSubstr("\r\nContent-Encoding: gzip\r\n"));
  EXPECT_THAT(request, ::testing::Not(HasSubstr("Expect:")));
  EXPECT_EQ(lagwatch::testing::Gunzip(request.substr(request.find("\r\n\r\n") + 4)), body);
}

TEST(HttpTransport, SendsNoAuthorizationWithoutAKey) {
  OneAnswerServer server(HttpAnswer("200 OK"));
  NewTransport(server.endpoint())->Post(Gzip("body"));
  EXPECT_THAT(server.Request(), ::testing::Not(HasSubstr("Authorization")));
}

TEST(HttpTransport, EachStatusHasItsMeaning) {
  EXPECT_EQ(AnswerTo(HttpAnswer("202 Accepted")).kind, AnswerKind::kDelivered);
  for (const char* status : {"400 Bad Request", "413 Too Large", "415 Unsupported"}) {
    const std::string error = R"({"error": {"code": "invalid", "message": "as told"}})";
    EXPECT_EQ(AnswerTo(HttpAnswer(status, "", error)).kind, AnswerKind::kRejected) << status;
  }
  for (const char* status : {"401 Unauthorized", "403 Forbidden"}) {
    EXPECT_EQ(AnswerTo(HttpAnswer(status)).kind, AnswerKind::kUnauthorized) << status;
  }
  for (const char* status : {"404 Not Found", "429 Too Many", "500 Oops", "503 Unavailable"}) {
    EXPECT_EQ(AnswerTo(HttpAnswer(status)).kind, AnswerKind::kTryLater) << status;
  }
}

TEST(HttpTransport, HandsOnRetryAfterAndTheReasonOnOneLine) {
  UploadAnswer answer =
      AnswerTo(HttpAnswer("503 Unavailable", "Retry-After: 120\r\n", "{\"error\":\n\x1b[1m\"full\"}"));
  EXPECT_EQ(answer.retry_after_s, 120);
  EXPECT_EQ(answer.http_status, 503);
  EXPECT_EQ(answer.message, "the collector answered 503 {\"error\":  [1m\"full\"}");
}

TEST(HttpTransport, FollowsNoRedirect) {
  OneAnswerServer elsewhere(HttpAnswer("200 OK"));
  UploadAnswer answer =
      AnswerTo(HttpAnswer("307 Temporary Redirect", "Location: " + elsewhere.endpoint() + "/\r\n"));
  EXPECT_EQ(answer.kind, AnswerKind::kTryLater);
  EXPECT_EQ(answer.http_status, 307);
}

TEST(HttpTransport, ALoginPageIsNoCollector) {
  UploadAnswer answer =
      AnswerTo("HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 5\r\n\r\nlogin");
  EXPECT_EQ(answer.kind, AnswerKind::kTryLater);
  EXPECT_THAT(answer.message, HasSubstr("not a lagwatch collector"));
}

TEST(HttpTransport, AnAnswerWithoutEndIsCutOff) {
  UploadAnswer answer = AnswerTo(HttpAnswer("200 OK", "", std::string(70'000, 'x')));
  EXPECT_EQ(answer.kind, AnswerKind::kTryLater);
}

TEST(HttpTransport, NobodyThereIsForLater) {
  std::string endpoint;
  {
    OneAnswerServer server(HttpAnswer("200 OK"));
    endpoint = server.endpoint();
  }
  UploadAnswer answer = NewTransport(endpoint)->Post(Gzip("body"));
  EXPECT_EQ(answer.kind, AnswerKind::kTryLater);
  EXPECT_EQ(answer.http_status, 0);
  EXPECT_THAT(answer.message, HasSubstr("onnect"));
}

TEST(HttpTransport, OneTransportPostsManyTimes) {
  OneAnswerServer server(HttpAnswer("200 OK"));
  auto transport = NewTransport(server.endpoint());
  EXPECT_EQ(transport->Post(Gzip("one")).kind, AnswerKind::kDelivered);
  EXPECT_EQ(transport->Post(Gzip("two")).kind, AnswerKind::kDelivered);
}

TEST(HttpTransport, AbortEndsAPostThatHangs) {
  OneAnswerServer server("");
  auto transport = NewTransport(server.endpoint());
  auto answer = std::async(std::launch::async, [&] { return transport->Post(Gzip("body")); });
  server.Request();
  transport->Abort();
  EXPECT_EQ(answer.get().kind, AnswerKind::kTryLater);
  EXPECT_EQ(transport->Post(Gzip("body")).kind, AnswerKind::kTryLater);
}

TEST(HttpTransport, AnAbsurdRetryAfterIsBroughtIntoRange) {
  EXPECT_EQ(AnswerTo(HttpAnswer("429 Too Many", "Retry-After: 99999999999999999999\r\n")).retry_after_s,
            86'400);
  EXPECT_EQ(AnswerTo(HttpAnswer("429 Too Many", "Retry-After: -5\r\n")).retry_after_s, 0);
}

TEST(HttpTransport, ABodyThatIsCutDeliversNothing) {
  UploadAnswer answer = AnswerTo(
      "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 500\r\n\r\n{\"accepted\": 1");
  EXPECT_EQ(answer.kind, AnswerKind::kTryLater);
  EXPECT_EQ(answer.http_status, 0);
}

TEST(HttpTransport, AServerThatStallsIsGivenUp) {
  OneAnswerServer server("");
  auto client = HttpClient::Create({.endpoint = server.endpoint(), .timeouts = {.stall_s = 1}});
  EXPECT_EQ(CreateHttpTransport(std::move(*client))->Post(Gzip("body")).kind, AnswerKind::kTryLater);
}

TEST(HttpTransport, UnusableOptionsAreRefusedInWords) {
  for (const char* endpoint :
       {"", "lag.example.com", "ftp://lag.example.com", "https://lag.example.com/a b"}) {
    auto client = HttpClient::Create({.endpoint = endpoint});
    ASSERT_FALSE(client.ok()) << endpoint;
    EXPECT_EQ(client.status().code(), base::StatusCode::kInvalid);
  }
  EXPECT_FALSE(HttpClient::Create({.endpoint = "http://x", .key = "k\r\nHost: evil"}).ok());
}

TEST(HttpClient, GetsWithHeadersAndKeepsTheETag) {
  OneAnswerServer server(HttpAnswer("200 OK", "ETag: \"v7\"\r\n", "document"));
  auto client = HttpClient::Create({.endpoint = server.endpoint(), .key = "k_secret"});
  ASSERT_TRUE(client.ok());
  lagwatch::report::HttpAnswer answer =
      (*client)->Ask({.path = "/v1/config?app=a", .headers = {"If-None-Match: \"v6\""}});
  EXPECT_EQ(answer.status, 200);
  EXPECT_EQ(answer.etag, "\"v7\"");
  EXPECT_EQ(answer.body, "document");
  std::string request = server.Request();
  EXPECT_THAT(request, ::testing::StartsWith("GET /v1/config?app=a HTTP/1.1\r\n"));
  EXPECT_THAT(request, HasSubstr("\r\nIf-None-Match: \"v6\"\r\n"));
}

TEST(HttpClient, LeavesAHostAloneThatDoesNotAnswer) {
  std::string endpoint;
  {
    OneAnswerServer server("");
    endpoint = server.endpoint();
  }
  auto client = HttpClient::Create({.endpoint = endpoint});
  for (int i = 0; i < 5; ++i) EXPECT_THAT((*client)->Ask({.path = "/"}).error, HasSubstr("onnect"));
  const lagwatch::report::HttpAnswer answer = (*client)->Ask({.path = "/"});
  EXPECT_THAT(answer.error, HasSubstr("left alone"));
  EXPECT_GT(answer.retry_after_s, 0);
}

TEST(RetryAfter, IsSecondsOrADate) {
  constexpr int64_t kNowS = 1'445'412'400;
  EXPECT_EQ(ParseRetryAfter("120", kNowS), 120);
  EXPECT_EQ(ParseRetryAfter(" 120 \r\n", kNowS), 120);
  EXPECT_EQ(ParseRetryAfter("Wed, 21 Oct 2015 07:28:00 GMT", kNowS), 80);
  EXPECT_EQ(ParseRetryAfter("Wed, 21 Oct 2015 07:00:00 GMT", kNowS), 0);
  EXPECT_EQ(ParseRetryAfter("Wed, 21 Oct 2099 07:00:00 GMT", kNowS), 86'400);
  EXPECT_EQ(ParseRetryAfter("86401", kNowS), 86'400);
  EXPECT_EQ(ParseRetryAfter(std::string(1'000, '9'), kNowS), 86'400);
  for (const char* nonsense : {"", " ", "-1", "1.5", "soon", "0x10", "1e9", "10 minutes", ",", "\xff,\xff"})
    EXPECT_EQ(ParseRetryAfter(nonsense, kNowS), 0) << nonsense;
}

}  // namespace
}  // namespace lagwatch::report
