// SPDX-License-Identifier: Apache-2.0
// Clients that mean harm, over real sockets.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <fstream>
#include <future>
#include <thread>

#include "collector/http/endpoints.h"
#include "collector/http/server/http_server.h"
#include "tests/collector/http/http_client.h"
#include "tests/collector/memory_collector.h"

namespace lagwatch::collector {
namespace {

using testing::Answer;
using testing::Client;
using testing::Count;
using testing::EncodeBatch;
using ::testing::HasSubstr;
using testing::kKey;
using testing::RawConnection;
using testing::SampleReport;
using ::testing::StartsWith;
using testing::UploadHead;
using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

// Resident memory of this process.
size_t MemoryKib() {
  std::ifstream statm("/proc/self/statm");
  size_t all_pages = 0;
  size_t resident_pages = 0;
  statm >> all_pages >> resident_pages;
  return resident_pages * 4;
}

// Sanitizers take their own time and memory.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kIsSanitized = true;
#else
constexpr bool kIsSanitized = false;
#endif

void ExpectLittleMemorySince(size_t before_kib) {
  if (kIsSanitized) return;
  EXPECT_LT(MemoryKib(), before_kib + (16 << 10));
}

class HostileTest : public ::testing::Test {
 protected:
  std::unique_ptr<HttpServer> Start(const HttpLimits& limits) {
    auto server = HttpServer::Start({.listen = {"127.0.0.1", 0}, .threads = 2, .limits = limits}, &router_);
    return std::move(server.value());
  }
  std::string Ask(const std::string& request) {
    RawConnection connection(server_->port());
    connection.Send(request);
    connection.ShutDownSending();
    return connection.ReceiveAll();
  }

  testing::MemoryCollector collector_;
  KeyRing keys_{{{kKey, Access::kAdmin}}};
  Router router_{CollectorEndpoints({.ingest = &collector_.ingest,
                                     .commits = &collector_.commits,
                                     .query_api = &collector_.query_api,
                                     .keys = &keys_},
                                    {}),
                 &keys_};
  std::unique_ptr<HttpServer> server_ = Start({});
};

// The time of the slowest but one of a hundred requests of a harmless client.
Clock::duration SlowOne(uint16_t port, int requests) {
  Client client(port);
  const std::string batch = EncodeBatch({SampleReport().Encode()});
  std::vector<Clock::duration> times;
  for (int i = 0; i < requests; ++i) {
    const Clock::time_point begin = Clock::now();
    const Answer answer = i % 2 == 0 ? client.Post(batch) : client.Get("/healthz");
    EXPECT_EQ(answer.status, 200) << answer.text;
    times.push_back(Clock::now() - begin);
  }
  const auto place = times.begin() + requests * 99 / 100;
  std::ranges::nth_element(times, place);
  return *place;
}

TEST_F(HostileTest, AThousandSlowConnectionsHinderNobody) {
  constexpr int kSlow = 1000;
  constexpr int kRequests = 400;
  auto server = Start({.head_time = 4s, .grace = 4s});
  const auto quiet = SlowOne(server->port(), kRequests);
  const size_t before_kib = MemoryKib();
  std::vector<RawConnection> slow;
  for (int i = 0; i < kSlow; ++i) {
    slow.emplace_back(server->port(), static_cast<uint8_t>(2 + i / 100));
    slow.back().Send(i % 2 == 0 ? "POST /v1/reports HTTP/1.1\r\nHost: x\r\nX-A: "
                                : UploadHead("Content-Length: 900\r\n"));
  }
  std::atomic<bool> is_over = false;
  std::thread drips([&] {
    for (size_t i = 0; !is_over; i = (i + 1) % slow.size()) {
      slow[i].TrySend("x");
      if (i % 100 == 0) std::this_thread::sleep_for(10ms);
    }
  });
  const auto hindered = SlowOne(server->port(), kRequests);
  const size_t used_kib = MemoryKib() - before_kib;
  is_over = true;
  drips.join();
  RecordProperty("quiet_p99_us", static_cast<int>(quiet / 1us));
  RecordProperty("hindered_p99_us", static_cast<int>(hindered / 1us));
  RecordProperty("memory_kib", static_cast<int>(used_kib));
  if (!kIsSanitized) {
    EXPECT_LT(hindered, std::max<Clock::duration>(100ms, 10 * quiet)) << quiet / 1us << " us without them";
    EXPECT_LT(used_kib, size_t{64} << 10);
  }
  for (RawConnection& each : slow) each.ReceiveAll();  // all are ended
}

// Gzipped zeros, without end.
class Bomb {
 public:
  Bomb() { deflateInit2(&stream_, Z_BEST_SPEED, Z_DEFLATED, 16 + MAX_WBITS, 8, Z_DEFAULT_STRATEGY); }
  ~Bomb() { deflateEnd(&stream_); }
  Bomb(const Bomb&) = delete;
  Bomb& operator=(const Bomb&) = delete;

  // The compressed form of a further 16 MiB of zeros.
  std::string Next() {
    stream_.next_in = reinterpret_cast<Bytef*>(zeros_.data());
    stream_.avail_in = static_cast<uInt>(zeros_.size());
    std::string piece(64 << 10, '\0');
    stream_.next_out = reinterpret_cast<Bytef*>(piece.data());
    stream_.avail_out = static_cast<uInt>(piece.size());
    deflate(&stream_, Z_SYNC_FLUSH);
    piece.resize(piece.size() - stream_.avail_out);
    return piece;
  }

 private:
  z_stream stream_{};
  std::string zeros_ = std::string(16 << 20, '\0');
};

TEST_F(HostileTest, TenGigabytesOfZerosAreRefusedWithLittleMemory) {
  Bomb bomb;
  RawConnection connection(server_->port());
  const size_t before_kib = MemoryKib();
  connection.Send(UploadHead("Content-Encoding: gzip\r\nTransfer-Encoding: chunked\r\n"));
  std::string answer;
  for (int i = 0; i < 640 && answer.empty(); ++i) {
    const std::string piece = bomb.Next();
    char size[24];
    std::snprintf(size, sizeof size, "%zx\r\n", piece.size());
    connection.TrySend(size + piece + "\r\n");
    answer = connection.ReceiveReady();
  }
  EXPECT_THAT(answer, StartsWith("HTTP/1.1 413"));
  ExpectLittleMemorySince(before_kib);
}

TEST_F(HostileTest, AsManyZerosAsFitIntoABodyAreRefusedWithLittleMemory) {
  Bomb bomb;
  std::string body;
  while (body.size() < 2'000'000) body += bomb.Next();
  const size_t before_kib = MemoryKib();
  Client client(server_->port());
  client.headers.push_back("Content-Encoding: gzip");
  const Answer answer = client.Post(body);
  EXPECT_EQ(answer.status, 413);
  EXPECT_THAT(answer.text, HasSubstr("times its size"));
  ExpectLittleMemorySince(before_kib);
}

TEST_F(HostileTest, PathsLeadNowhereElse) {
  for (const char* path : {"/../etc/passwd", "/v1/../healthz", "/v1/reports/../../etc/passwd",
                           "/v1/reports/..", "/v1/reports/%2e%2e", "/v1/clusters/%00", "/v1/reports/a%00b",
                           "/v1/reports/a/b", "/v1/reports/", "//healthz", "/healthz/", "/healthz%00",
                           "/%68ealthz", "http://x/healthz", "*", "/v1/reports/a\\b", "/v1/clusters/{key}"}) {
    const std::string answer =
        Ask("GET " + std::string(path) + " HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer k_test\r\n\r\n");
    EXPECT_THAT(answer, ::testing::AnyOf(StartsWith("HTTP/1.1 404"), StartsWith("HTTP/1.1 400"))) << path;
  }
  for (const char* query : {"app=%00", "app=%", "app=%zz", "limit=%00", "limit=99999999999999999999",
                            "level=-1", "app=%c3%28", "app='%20OR%201=1--"}) {
    const std::string answer = Ask("GET /v1/clusters?" + std::string(query) +
                                   " HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer k_test\r\n\r\n");
    EXPECT_THAT(answer, ::testing::AnyOf(StartsWith("HTTP/1.1 200"), StartsWith("HTTP/1.1 400"))) << query;
  }
}

// One reader may take for a body what another takes for the next request: neither is answered here.
TEST_F(HostileTest, ShapesThatSmuggleRequestsAreRefused) {
  const std::string hidden = "GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n";
  const std::string length = "Content-Length: " + std::to_string(hidden.size()) + "\r\n";
  const std::string other_length = "Content-Length: 1\r\n";
  for (const std::string& headers :
       {length + other_length, other_length + length, length + "Transfer-Encoding: chunked\r\n",
        "Transfer-Encoding: chunked\r\n" + length, std::string("Transfer-Encoding: xchunked\r\n"),
        std::string("Transfer-Encoding: chunked, identity\r\n"),
        std::string("Transfer-Encoding: gzip, chunked\r\n"),
        std::string("Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n"),
        std::string("Transfer-Encoding : chunked\r\n"), std::string("Content-Length: +5\r\n"),
        std::string("Content-Length: 0x5\r\n"), std::string("Content-Length: 5, 5\r\n"),
        std::string("Content-Length: 5\r\nContent-Length: 5\r\n"),
        std::string("Content-Length: 18446744073709551617\r\n"), std::string("Host: y\r\n"),
        std::string("Authorization: Bearer k_wrong\r\n"), std::string("Bad Name: x\r\n"),
        std::string("X: a\rb\r\n")}) {
    const std::string answer = Ask(UploadHead(headers) + hidden);
    EXPECT_THAT(answer, StartsWith("HTTP/1.1 400")) << headers;
    EXPECT_EQ(Count(answer, "Server: "), 1u) << headers;
  }
  EXPECT_THAT(Ask("POST /v1/reports HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n" + hidden),
              StartsWith("HTTP/1.0 400"));
  EXPECT_THAT(Ask("GET /healthz HTTP/1.1\r\n\r\n"), StartsWith("HTTP/1.1 400"));
  EXPECT_THAT(Ask("GET x HTTP/1.1\r\nHost: x\r\nAccept: text/html\r\n\r\n"), StartsWith("HTTP/1.1 400"));
  EXPECT_THAT(Ask("GET /healthz HTTP/3.7\r\nHost: x\r\n\r\n"), StartsWith("HTTP/1.1 400"));
}

TEST_F(HostileTest, AChunksHeadHasAnEnd) {
  RawConnection connection(server_->port());
  connection.Send(UploadHead("Transfer-Encoding: chunked\r\n") + "1;");
  bool is_taken = true;
  for (int i = 0; i < 20000 && is_taken; ++i) is_taken = connection.TrySend(std::string(1000, 'x'));
  EXPECT_FALSE(is_taken);
  EXPECT_EQ(Count(connection.ReceiveAll(), "HTTP/1.1 200"), 0u);
}

TEST_F(HostileTest, WhatIsSentManyTimesIsStoredOnce) {
  const std::string batch = EncodeBatch({SampleReport().Encode()});
  std::vector<std::future<int>> clients;
  for (int i = 0; i < 8; ++i) {
    clients.push_back(std::async(std::launch::async, [&] {
      int accepted = 0;
      Client client(server_->port());
      for (int k = 0; k < 5; ++k) accepted += client.Post(batch).json()["accepted"].get<int>();
      return accepted;
    }));
  }
  int accepted = 0;
  for (auto& each : clients) accepted += each.get();
  EXPECT_EQ(accepted, 1);
}

TEST_F(HostileTest, RequestsThatFollowARefusedOneAreNotAnswered) {
  const std::string answer =
      Ask("GET /v1/clusters HTTP/1.1\r\nHost: x\r\n\r\nGET /healthz HTTP/1.1\r\nHost: x\r\n\r\n");
  EXPECT_THAT(answer, StartsWith("HTTP/1.1 401"));
  EXPECT_EQ(Count(answer, "Server: "), 1u);
}

TEST_F(HostileTest, ClientsThatGoAwayAtAnyPointLeaveNothing) {
  const std::string batch = EncodeBatch({SampleReport().Encode()});
  const std::string request = UploadHead("Content-Length: " + std::to_string(batch.size()) + "\r\n") + batch;
  for (size_t sent = 0; sent < request.size(); sent += 7) {
    RawConnection connection(server_->port());
    connection.Send(request.substr(0, sent));
  }
  EXPECT_EQ(Client(server_->port()).Get("/healthz").status, 200);
  server_->Stop();
}

}  // namespace
}  // namespace lagwatch::collector
