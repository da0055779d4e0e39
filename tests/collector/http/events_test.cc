// SPDX-License-Identifier: Apache-2.0
#include "collector/http/events.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "collector/http/endpoints.h"
#include "collector/http/server/http_server.h"
#include "tests/collector/http/http_client.h"
#include "tests/collector/memory_collector.h"
#include "tests/testing/process.h"

namespace lagwatch::collector {
namespace {

using ::testing::HasSubstr;
using testing::kKey;
using ::testing::Not;
using testing::RawConnection;
using testing::SampleReport;

class EventsTest : public ::testing::Test {
 protected:
  EventsTest() { Start(); }

  void Start() {
    server_ = std::move(HttpServer::Start({.listen = {"127.0.0.1", 0}, .threads = 1}, &router_).value());
  }
  SampleReport Submit(std::string_view app) {
    SampleReport report;
    report.header.app = app;
    testing::Client(server_->port()).Post(testing::EncodeBatch({report.Encode()}));
    return report;
  }
  std::string Ask(const std::string& query, const std::string& header = "") {
    return "GET /v1/events" + query + " HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer " + kKey + "\r\n" +
           header + "\r\n";
  }

  ReportFeed feed_;
  testing::MemoryCollector collector_;
  GroupCommit commits_{collector_.store.get(),
                       [this](auto records, auto outcomes) { feed_.Publish(records, outcomes); }};
  KeyRing keys_{{{kKey, Access::kAdmin}}};
  Router router_{CollectorEndpoints({.ingest = &collector_.ingest,
                                     .commits = &commits_,
                                     .query_api = &collector_.query_api,
                                     .keys = &keys_,
                                     .feed = &feed_},
                                    {}),
                 &keys_};
  std::unique_ptr<HttpServer> server_;
};

TEST_F(EventsTest, EachNewReportIsTold) {
  Submit("before");
  RawConnection listener(server_->port());
  listener.Send(Ask(""));
  EXPECT_THAT(listener.ReadUntil("\r\n\r\n"), HasSubstr("text/event-stream"));
  const SampleReport report = Submit("editor");
  const std::string event = listener.ReadUntil("\n\n");
  EXPECT_THAT(event,
              HasSubstr("id: " + base::ToString(report.header.id) + "\nevent: report\ndata: {\"id\":"));
  EXPECT_THAT(event, HasSubstr("\"app\":\"editor\""));
  EXPECT_THAT(event, Not(HasSubstr("before")));
}

TEST_F(EventsTest, OnlyThoseThatWereAskedFor) {
  RawConnection listener(server_->port());
  listener.Send(Ask("?app=player"));
  listener.ReadUntil("\r\n\r\n");
  Submit("editor");
  Submit("player");
  EXPECT_THAT(listener.ReadUntil("\n\n"), HasSubstr("\"app\":\"player\""));
}

TEST_F(EventsTest, AListenerThatComesBackMissesNothing) {
  const SampleReport heard = Submit("first");
  Submit("second");
  Submit("third");
  RawConnection listener(server_->port());
  listener.Send(Ask("", "Last-Event-ID: " + base::ToString(heard.header.id) + "\r\n"));
  listener.ReadUntil("\r\n\r\n");
  EXPECT_THAT(listener.ReadUntil("\n\n"), HasSubstr("\"app\":\"second\""));
  EXPECT_THAT(listener.ReadUntil("\n\n"), HasSubstr("\"app\":\"third\""));
}

TEST_F(EventsTest, TheServerStopsAllTheSame) {
  RawConnection listener(server_->port());
  listener.Send(Ask(""));
  listener.ReadUntil("\r\n\r\n");
  server_->Stop();
  EXPECT_EQ(listener.ReadUntil("\n\n"), "");
}

TEST_F(EventsTest, APlaceIsGivenBack) {
  EventTexts texts(&feed_);
  std::vector<std::shared_ptr<void>> places;
  for (uint64_t i = 0; i < ReportFeed::kMaxListeners; ++i)
    places.push_back(texts.TryListen("key" + std::to_string(i / 20), "peer" + std::to_string(i / 10)));
  EXPECT_NE(places.back(), nullptr);
  EXPECT_EQ(texts.TryListen("another", "one"), nullptr);
  places.pop_back();
  EXPECT_NE(texts.TryListen("another", "one"), nullptr);
}

TEST_F(EventsTest, NoKeyAndNoAddressHasAllPlaces) {
  EventTexts texts(&feed_);
  std::vector<std::shared_ptr<void>> places;
  for (int i = 0; i < 110; ++i) places.push_back(texts.TryListen("shared", std::to_string(i)));
  EXPECT_EQ(places.back(), nullptr);
  EXPECT_NE(texts.TryListen("another", "0"), nullptr);
  for (uint64_t i = 0; i < EventTexts::kMaxOfAPeer; ++i)
    places.push_back(texts.TryListen("key" + std::to_string(i), "peer"));
  EXPECT_NE(places.back(), nullptr);
  EXPECT_EQ(texts.TryListen("new", "peer"), nullptr);
  EXPECT_NE(texts.TryListen("new", ""), nullptr);
}

TEST_F(EventsTest, ARequestBeyondTheLimitOfItsAddressIsRefused) {
  std::vector<std::unique_ptr<RawConnection>> listeners;
  for (uint64_t i = 0; i < EventTexts::kMaxOfAPeer; ++i) {
    listeners.push_back(std::make_unique<RawConnection>(server_->port()));
    listeners.back()->Send(Ask(""));
    EXPECT_THAT(listeners.back()->ReadUntil("\r\n\r\n"), HasSubstr("200 OK"));
  }
  const testing::Answer refused = testing::Client(server_->port()).Get("/v1/events");
  EXPECT_EQ(refused.status, 503);
  EXPECT_THAT(refused.text, HasSubstr("too many listeners"));
  // A client that leaves frees its place at once, not at the next sign of life, 15 s later.
  listeners.pop_back();
  EXPECT_TRUE(testing::WaitUntil(
      [&] {
        RawConnection next(server_->port());
        next.Send(Ask(""));
        return next.ReadUntil("\r\n\r\n").find("200 OK") != std::string::npos;
      },
      5));
}

// A listener that reads slowly, or not at all, holds a piece of what is new, not all of it.
TEST(EventTexts, GoOutPieceByPieceAndLeaveNothingOut) {
  ReportFeed feed;
  EventTexts texts(&feed);
  std::vector<NewRecord> records;
  for (int i = 0; i < 500; ++i) {
    NewReport report;
    report.row.id = base::CreateUuidV7(i);
    report.row.tag = std::string(1000, 'x');
    records.emplace_back(report);
  }
  feed.Publish(records, std::vector<CommitOutcome>(records.size(), CommitOutcome::kStored));
  uint64_t seen = 0;
  std::string all;
  int pieces = 0;
  for (std::string piece = texts.Next({}, &seen); !piece.empty(); piece = texts.Next({}, &seen)) {
    EXPECT_LT(piece.size(), EventTexts::kMaxBytesAtOnce + 4000);
    all += piece;
    ++pieces;
  }
  EXPECT_GT(pieces, 5);
  EXPECT_EQ(testing::Count(all, "event: report"), 500u);
  uint64_t other = 499;
  EXPECT_EQ(testing::Count(texts.Next({}, &other), "event: report"), 1u);
}

TEST(ReportFeed, KeepsTheNewest) {
  ReportFeed feed;
  std::vector<NewRecord> records(ReportFeed::kMaxKept + 5, NewReport{});
  std::vector<CommitOutcome> outcomes(records.size(), CommitOutcome::kStored);
  outcomes[0] = CommitOutcome::kDuplicate;
  feed.Publish(records, outcomes);
  uint64_t seen = 0;
  EXPECT_EQ(feed.Since(&seen).size(), ReportFeed::kMaxKept);
  EXPECT_EQ(seen, records.size() - 1);
  EXPECT_TRUE(feed.Since(&seen).empty());
}

}  // namespace
}  // namespace lagwatch::collector
