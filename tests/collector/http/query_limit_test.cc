// SPDX-License-Identifier: Apache-2.0
// Queries that take too long, and those whose clients have gone.
#include "collector/store/query_limit.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <thread>

#include "collector/http/server/http_server.h"
#include "tests/collector/http/http_client.h"
#include "tests/collector/memory_collector.h"
#include "tests/testing/process.h"
#include "tests/testing/temp_directory.h"

namespace lagwatch::collector {
namespace {

using testing::Client;
using ::testing::HasSubstr;
using testing::RawConnection;
using testing::SampleReport;
using testing::WaitUntil;
using namespace std::chrono_literals;

constexpr char kEndless[] =
    "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n";

TEST(QueryLimit, EndsAStatementAtItsDeadlineAndNotTheNextOne) {
  Database database(":memory:");
  const QueryLimit limit(50ms);
  database.SetLimit(&limit);
  EXPECT_THROW(database.Use(kEndless).Run(), SqliteError);
  database.SetLimit(nullptr);
  EXPECT_TRUE(database.Use("SELECT 1").Step());
}

TEST(QueryLimit, EndsAStatementWhenItIsCancelled) {
  Database database(":memory:");
  QueryLimit limit(1h);
  std::thread other([&] {
    std::this_thread::sleep_for(50ms);
    limit.Cancel();
  });
  database.SetLimit(&limit);
  EXPECT_THROW(database.Use(kEndless).Run(), SqliteError);
  other.join();
  EXPECT_THAT(limit.ToStatus().message(), HasSubstr("disconnected"));
}

TEST(QueryLimit, IsThatOfTheThreadThatAsksAStore) {
  testing::ScopedTempDirectory directory;
  auto store = std::move(SqliteStore::Open(directory / "collector.db").value());
  Ingest ingest(store.get(), Clusterer::Create("").value());
  std::vector<std::string> reports(200);
  for (std::string& report : reports) report = SampleReport().Encode();
  ASSERT_EQ(ingest.Submit(testing::EncodeBatch(reports))->accepted, 200);
  size_t visited = 0;
  const auto visit_slowly = [&](const ReportRow&) {
    ++visited;
    std::this_thread::sleep_for(2ms);
  };
  {
    const QueryLimit limit(100ms);
    const QueryLimit::Scope scope(&limit);
    const base::Status ended = store->ForEachReport({}, visit_slowly);
    EXPECT_EQ(ended.code(), base::StatusCode::kUnavailable);
    EXPECT_THAT(ended.message(), HasSubstr("longer than 0.1 s"));
    EXPECT_FALSE(store->Causes({}).ok());  // nor does it begin anything else
    EXPECT_TRUE(std::async(std::launch::async, [&] { return store->Causes({}).ok(); }).get());
  }
  EXPECT_LT(visited, reports.size());
  EXPECT_TRUE(store->Causes({}).ok());
  visited = 0;
  EXPECT_TRUE(store->ForEachReport({}, visit_slowly).ok());
  EXPECT_EQ(visited, reports.size());
}

class QueryOverHttp : public ::testing::Test {
 protected:
  void Start(const HttpLimits& limits) {
    server_ = std::move(
        HttpServer::Start({.listen = {"127.0.0.1", 0}, .threads = 1, .limits = limits}, &router_).value());
  }

  // Computes until its limit is over.
  Response Endless() {
    ++begun_;
    Database database(":memory:");
    database.SetLimit(QueryLimit::OfThisThread());
    try {
      database.Use(kEndless).Run();
    } catch (const SqliteError&) {
      ++ended_;
    }
    return ErrorResponse(QueryLimit::OfThisThread()->ToStatus());
  }

  static Endpoint Query(std::string_view path, std::function<Response()> answer) {
    return {.method = "GET",
            .path = path,
            .access = kEverybody,
            .runs_on = RunsOn::kQueries,
            .handler = [answer = std::move(answer)](const Request&, const Respond& respond) {
              respond(answer());
            }};
  }

  std::atomic<int> begun_{0};
  std::atomic<int> ended_{0};
  KeyRing keys_{{{"k", Access::kProject}}};
  Router router_{{Query("/endless", [this] { return Endless(); }), Query("/quick",
                                                                         [] {
                                                                           return Response{200, "\"quick\""};
                                                                         })},
                 &keys_};
  std::unique_ptr<HttpServer> server_;
};

constexpr char kAsk[] = "GET /endless HTTP/1.1\r\nHost: x\r\n\r\n";

TEST_F(QueryOverHttp, HasADeadline) {
  Start({.query_time = 200ms});
  Client client(server_->port());
  const auto answer = client.Get("/endless");
  EXPECT_EQ(answer.status, 503);
  EXPECT_THAT(answer.text, HasSubstr("longer than 0.2 s"));
  EXPECT_EQ(client.Get("/quick").status, 200);
}

TEST_F(QueryOverHttp, EndsWhenItsClientGoes) {
  Start({.query_time = 1h});
  {
    RawConnection client(server_->port());
    client.Send(kAsk);
    ASSERT_TRUE(WaitUntil([&] { return begun_ == 1; }));
    EXPECT_EQ(ended_, 0);
  }
  EXPECT_TRUE(WaitUntil([&] { return ended_ == 1; }));
}

TEST_F(QueryOverHttp, DoesNotBeginWhenItsClientHasGone) {
  Start({.query_threads = 1, .queued_queries = 64, .query_time = 1h});
  auto first = std::make_unique<RawConnection>(server_->port());
  first->Send(kAsk);
  ASSERT_TRUE(WaitUntil([&] { return begun_ == 1; }));
  for (int i = 0; i < 50; ++i) RawConnection(server_->port()).Send(kAsk);
  auto quick = std::async(std::launch::async, [&] { return Client(server_->port()).Get("/quick").status; });
  std::this_thread::sleep_for(500ms);  // the server looks after its clients
  first.reset();
  EXPECT_EQ(quick.get(), 200);
  EXPECT_EQ(begun_, 1);
}

TEST_F(QueryOverHttp, EndsWhenTheServerStops) {
  Start({.stop_time = 100ms, .query_time = 1h});
  RawConnection client(server_->port());
  client.Send(kAsk);
  ASSERT_TRUE(WaitUntil([&] { return begun_ == 1; }));
  server_->Stop();
  EXPECT_EQ(ended_, 1);
}

}  // namespace
}  // namespace lagwatch::collector
