// SPDX-License-Identifier: Apache-2.0
#include "collector/http/http_server.h"

#include <arpa/inet.h>
#include <curl/curl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <future>

#include "tests/collector/gzip_text.h"
#include "tests/collector/memory_collector.h"

namespace lagwatch::collector {
namespace {

using testing::EncodeBatch;
using testing::GzipText;
using ::testing::HasSubstr;
using testing::SampleReport;
using ::testing::StartsWith;

constexpr char kKey[] = "k_test";

struct Answer {
  long status = 0;
  std::string text;
  long new_connections = 0;
  Json json() const { return Json::parse(text); }
};

// A client with one keep-alive connection, as libcurl makes it.
class Client {
 public:
  explicit Client(uint16_t port) : base_url_("http://127.0.0.1:" + std::to_string(port)) {}

  std::vector<std::string> headers = {std::string("Authorization: Bearer ") + kKey,
                                      "Content-Type: application/x-protobuf"};

  Answer Get(const std::string& target) { return Perform("GET", target, nullptr); }
  Answer Post(const std::string& body) { return Perform("POST", "/v1/reports", &body); }
  Answer PostGzip(const std::string& content) {
    headers.push_back("Content-Encoding: gzip");
    return Post(GzipText(content));
  }
  Answer Perform(const char* method, const std::string& target, const std::string* body) {
    curl_easy_reset(curl_.get());
    curl_slist* list = nullptr;
    for (const std::string& header : headers) list = curl_slist_append(list, header.c_str());
    Answer answer;
    std::string url = base_url_ + target;
    curl_easy_setopt(curl_.get(), CURLOPT_URL, url.c_str());
    curl_easy_setopt(curl_.get(), CURLOPT_CUSTOMREQUEST, method);
    curl_easy_setopt(curl_.get(), CURLOPT_HTTPHEADER, list);
    curl_easy_setopt(curl_.get(), CURLOPT_TIMEOUT, 60L);
    curl_easy_setopt(curl_.get(), CURLOPT_WRITEFUNCTION, &Append);
    curl_easy_setopt(curl_.get(), CURLOPT_WRITEDATA, &answer.text);
    if (body) {
      curl_easy_setopt(curl_.get(), CURLOPT_POSTFIELDS, body->data());
      curl_easy_setopt(curl_.get(), CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(body->size()));
    }
    EXPECT_EQ(curl_easy_perform(curl_.get()), CURLE_OK);
    curl_easy_getinfo(curl_.get(), CURLINFO_RESPONSE_CODE, &answer.status);
    curl_easy_getinfo(curl_.get(), CURLINFO_NUM_CONNECTS, &answer.new_connections);
    curl_slist_free_all(list);
    return answer;
  }

 private:
  static size_t Append(char* data, size_t size, size_t count, void* text) {
    static_cast<std::string*>(text)->append(data, size * count);
    return size * count;
  }

  std::string base_url_;
  std::unique_ptr<CURL, decltype(&curl_easy_cleanup)> curl_{curl_easy_init(), &curl_easy_cleanup};
};

// A connection without a library, for what no library would send.
class RawConnection {
 public:
  explicit RawConnection(uint16_t port) : fd_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(connect(fd_, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  }
  ~RawConnection() { close(fd_); }

  void Send(const std::string& text) {
    EXPECT_EQ(send(fd_, text.data(), text.size(), MSG_NOSIGNAL), static_cast<ssize_t>(text.size()));
  }
  // Up to the end of the connection.
  std::string ReceiveAll() {
    std::string received;
    char piece[4096];
    ssize_t count;
    while ((count = recv(fd_, piece, sizeof piece, 0)) > 0)
      received.append(piece, static_cast<size_t>(count));
    return received;
  }

 private:
  int fd_;
};

class HttpServerTest : public ::testing::Test {
 protected:
  static constexpr BodyLimits kLimits{.body_bytes = 10'000, .inflated_bytes = 50'000};

  testing::MemoryCollector collector_;
  Router router_{ApiKeys(std::vector<std::string>{"k_other", kKey}), kLimits, &collector_.ingest,
                 &collector_.query_api};
  std::unique_ptr<HttpServer> server_ =
      std::move(HttpServer::Start(
                    {.listen = {"127.0.0.1", 0}, .threads = 2, .timeout = std::chrono::seconds(30)}, &router_)
                    .value());
  Client client_{server_->port()};
};

TEST_F(HttpServerTest, TakesReportsAndShowsThem) {
  Answer answer = client_.PostGzip(EncodeBatch({SampleReport().Encode()}));
  EXPECT_EQ(answer.status, 200);
  EXPECT_EQ(answer.json(), Json::parse(R"({"accepted": 1, "duplicates": 0, "rejected": 0, "results": []})"));
  EXPECT_EQ(client_.Get("/v1/clusters?level=2").json()[0]["frames"][0], "Leaf");
}

TEST_F(HttpServerTest, TakesUncompressedReportsToo) {
  EXPECT_EQ(client_.Post(EncodeBatch({SampleReport().Encode()})).json()["accepted"], 1);
}

TEST_F(HttpServerTest, CountsADuplicateUpload) {
  std::string batch = EncodeBatch({SampleReport().Encode()});
  client_.Post(batch);
  EXPECT_EQ(client_.Post(batch).json(), Json::parse(R"({"accepted": 0, "duplicates": 1, "rejected": 0,
                                                        "results": [{"record": 0, "result": "duplicate"}]})"));

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
  auto impatient = HttpServer::Start(
      {.listen = {"127.0.0.1", 0}, .threads = 1, .timeout = std::chrono::milliseconds(50)}, &router_);
  RawConnection silent(impatient.value()->port());
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
