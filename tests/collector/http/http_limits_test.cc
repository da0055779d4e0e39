// SPDX-License-Identifier: Apache-2.0
// The server's limits, and its behaviour beyond them: real sockets, endpoints made for it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <future>
#include <thread>

#include "collector/http/server/http_server.h"
#include "collector/http/server/limited_log.h"
#include "collector/http/server/query_threads.h"
#include "tests/collector/http/http_client.h"

namespace lagwatch::collector {
namespace {

using testing::Answer;
using testing::Client;
using ::testing::HasSubstr;
using ::testing::Not;
using testing::RawConnection;
using ::testing::StartsWith;
using namespace std::chrono_literals;

constexpr char kPing[] = "GET /ping HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n";

class HttpLimitsTest : public ::testing::Test {
 protected:
  std::unique_ptr<HttpServer> Start(const HttpLimits& limits) {
    auto server = HttpServer::Start(
        {.listen = {"127.0.0.1", 0}, .threads = 1, .limits = limits, .metrics = &metrics_}, &router_);
    return std::move(server.value());
  }

  // Answers a GET of /late, from a thread of its own.
  void AnswerLate() { late_.get_future().get()({200, "\"late\""}); }

  std::promise<Respond> late_;
  std::atomic<int> deep_parsed_ = 0;  // by POST /parse
  std::promise<void> release_;        // GET /slow waits for it
  std::shared_future<void> released_ = release_.get_future().share();
  Metrics metrics_;
  KeyRing keys_{{{"k", Access::kProject}}};
  Router router_{{{.method = "GET",
                   .path = "/ping",
                   .access = kEverybody,
                   .runs_on = RunsOn::kIo,
                   .handler =
                       [](const Request&, const Respond& respond) {
                         respond({200, "\"pong\""});
                       }},
                  {.method = "POST",
                   .path = "/body",
                   .access = kEverybody,
                   .runs_on = RunsOn::kIo,
                   .handler =
                       [](const Request& request, const Respond& respond) {
                         respond({200, std::to_string(request.body.size())});
                       },
                   .body_limit = 1000,
                   .body_type = "text/plain"},
                  {.method = "POST",
                   .path = "/sentry",
                   .access = kSenders,
                   .key_place = KeyPlace::kSentry,
                   .runs_on = RunsOn::kIo,
                   .handler =
                       [](const Request& request, const Respond& respond) {
                         respond({200, std::to_string(request.body.size())});
                       },
                   .body_limit = 1000},
                  {.method = "POST",
                   .path = "/parse",
                   .access = kEverybody,
                   .runs_on = RunsOn::kParsers,
                   .handler =
                       [this](const Request& request, const Respond& respond) {
                         const int parsed_before = deep_parsed_;
                         if (request.body.size() > 10) {
                           released_.wait();
                           ++deep_parsed_;
                         }
                         respond({200, std::to_string(parsed_before)});
                       },
                   .body_limit = 1000,
                   .body_type = "text/plain"},
                  {.method = "GET",
                   .path = "/late",
                   .access = kEverybody,
                   .runs_on = RunsOn::kIo,
                   .handler = [this](const Request&, const Respond& respond) { late_.set_value(respond); }},
                  {.method = "GET",
                   .path = "/slow",
                   .access = kEverybody,
                   .runs_on = RunsOn::kQueries,
                   .handler =
                       [this](const Request&, const Respond& respond) {
                         released_.wait();
                         respond({200, "\"slow\""});
                       }},
                  {.method = "GET",
                   .path = "/throws",
                   .access = kEverybody,
                   .runs_on = RunsOn::kIo,
                   .handler = [](const Request&, const Respond&) { throw std::runtime_error("a fault"); }}},
                 &keys_};
};

std::string BodyHead(size_t size) {
  return "POST /body HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Type: "
         "text/plain\r\nContent-Length: " +
         std::to_string(size) + "\r\n\r\n";
}

TEST_F(HttpLimitsTest, HoldsNoThreadForAnAnswerThatComesLater) {
  auto server = Start({});
  RawConnection waiting(server->port());
  waiting.Send("GET /late HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
  std::thread answers([this] { AnswerLate(); });
  EXPECT_THAT(waiting.ReceiveAll(), HasSubstr("late"));
  answers.join();
}

TEST_F(HttpLimitsTest, TakesTheFirstOfTwoAnswers) {
  auto server = Start({});
  RawConnection waiting(server->port());
  waiting.Send("GET /late HTTP/1.1\r\nHost: x\r\n\r\n");
  Respond respond = late_.get_future().get();
  respond({200, "\"first\""});
  respond({200, "\"second\""});
  waiting.Send(kPing);
  const std::string received = waiting.ReceiveAll();
  EXPECT_THAT(received, HasSubstr("first"));
  EXPECT_THAT(received, HasSubstr("pong"));
  EXPECT_THAT(received, Not(HasSubstr("second")));
}

TEST_F(HttpLimitsTest, AnswersForAHandlerThatThrows) {
  auto server = Start({});
  Answer answer = Client(server->port()).Get("/throws");
  EXPECT_EQ(answer.status, 500);
  EXPECT_THAT(answer.text, Not(HasSubstr("a fault")));
}

TEST_F(HttpLimitsTest, LetsSlowQuestionsHoldUpNothingElse) {
  auto server = Start({.query_threads = 1, .queued_queries = 1});
  constexpr char kSlow[] = "GET /slow HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n";
  RawConnection first(server->port());
  RawConnection second(server->port());
  RawConnection third(server->port());
  for (RawConnection* each : {&first, &second, &third}) each->Send(kSlow);
  EXPECT_EQ(Client(server->port()).Get("/ping").status, 200);
  // Whichever came last.
  std::string refused;
  EXPECT_TRUE(testing::WaitFor([&] {
    for (RawConnection* each : {&first, &second, &third}) refused += each->ReceiveReady();
    return refused.ends_with("}}");
  }));
  EXPECT_THAT(refused, StartsWith("HTTP/1.1 503"));
  EXPECT_THAT(refused, HasSubstr("Retry-After: "));
  release_.set_value();
  const std::string rest = first.ReceiveAll() + second.ReceiveAll() + third.ReceiveAll();
  EXPECT_EQ(testing::Count(rest, "HTTP/1.1 200"), 2u);
}

// Neither other requests nor other addresses' bodies wait for those that one address sends.
TEST_F(HttpLimitsTest, BodiesThatTakeLongToReadHoldUpNothingElse) {
  auto server = Start({.parser_threads = 1, .queued_bodies = 40});
  const auto post = [&](uint8_t address, const std::string& body) {
    RawConnection connection(server->port(), address);
    connection.Send(
        "POST /parse HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Type: "
        "text/plain\r\nContent-Length: " +
        std::to_string(body.size()) + "\r\n\r\n" + body);
    return connection;
  };
  // Once an address has no more room, what it sent before is in the queue.
  const auto fill = [&](uint8_t address, const std::string& body) {
    std::vector<RawConnection> sent;
    for (int i = 0; i < 7; ++i) sent.push_back(post(address, body));
    std::string refused;
    EXPECT_TRUE(testing::WaitFor([&] {
      for (RawConnection& each : sent) refused += each.ReceiveReady();
      return refused.find("HTTP/1.1 503") != std::string::npos;
    }));
    return sent;
  };
  std::vector<RawConnection> deep = fill(2, std::string(100, '['));
  Client client(server->port());
  for (int i = 0; i < 10; ++i) EXPECT_EQ(client.Get("/ping").status, 200);
  std::vector<RawConnection> others = fill(3, "{}");
  release_.set_value();
  int parsed_before = 100;
  for (RawConnection& each : others) {
    const std::string answer = each.ReceiveAll();
    if (answer.starts_with("HTTP/1.1 200"))
      parsed_before = std::min(parsed_before, std::stoi(answer.substr(answer.find("\r\n\r\n"))));
  }
  EXPECT_LE(parsed_before, 2);
  for (RawConnection& each : deep) each.ReceiveAll();
}

// A client with many requests waits for its own ones only.
TEST(QueryThreads, LetsPeersTakeTurns) {
  std::string done;
  std::promise<void> release;
  std::shared_future<void> released = release.get_future().share();
  {
    QueryThreads threads(1, 10);
    EXPECT_TRUE(threads.TryPost("greedy", [released] { released.wait(); }));
    for (int i = 0; i < 4; ++i) EXPECT_TRUE(threads.TryPost("greedy", [&done] { done += 'g'; }));
    EXPECT_TRUE(threads.TryPost("modest", [&done] { done += '1'; }));
    EXPECT_TRUE(threads.TryPost("modest", [&done] { done += '2'; }));
    // The first task takes more than is expected of a new peer's tasks (10 ms), also on a quick machine.
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    release.set_value();
  }
  EXPECT_EQ(done.size(), 6u);
  EXPECT_LT(done.find('2'), done.find("gg")) << done;
}

TEST(QueryThreads, OnePeerDoesNotFillTheQueue) {
  std::promise<void> release;
  std::shared_future<void> released = release.get_future().share();
  int done = 0;
  {
    QueryThreads threads(1, 8, 2);
    EXPECT_TRUE(threads.TryPost("first", [released] { released.wait(); }));
    int taken = 0;
    for (int i = 0; i < 10; ++i) taken += threads.TryPost("greedy", [&done] { ++done; }) ? 1 : 0;
    EXPECT_EQ(taken, 2);
    EXPECT_TRUE(threads.TryPost("modest", [&done] { ++done; }));
    release.set_value();
  }
  EXPECT_EQ(done, 3);
}

// Many peers that ask long questions are not many turns for one that asks short ones.
TEST(QueryThreads, DoShortTasksBetweenTheLongOnesOfManyPeers) {
  std::string done;
  {
    QueryThreads threads(1, 100);
    const auto take_long = [&done] {
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
      done += 'l';
    };
    for (int peer = 0; peer < 8; ++peer) {
      for (int i = 0; i < 3; ++i) {
        EXPECT_TRUE(threads.TryPost("long" + std::to_string(peer), [&, take_long] {
          take_long();
          if (done.size() != 10) return;
          EXPECT_TRUE(threads.TryPost("short", [&done] { done += 's'; }));
        }));
      }
    }
  }
  EXPECT_EQ(done.find('s'), 10u) << done;
}

TEST(QueryThreads, LeaveOneThreadToShortTasks) {
  std::promise<void> release;
  const std::shared_future<void> released = release.get_future().share();
  std::atomic<int> long_done = 0;
  std::promise<void> short_done;
  {
    QueryThreads threads(2, 100);
    const auto post_all = [&](const std::function<void()>& task) {
      for (int peer = 0; peer < 3; ++peer) EXPECT_TRUE(threads.TryPost("long" + std::to_string(peer), task));
    };
    post_all([&] {
      std::this_thread::sleep_for(std::chrono::milliseconds(500));
      ++long_done;
    });
    EXPECT_TRUE(testing::WaitFor([&] { return long_done == 3; }));
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    post_all([&] {
      released.wait();
      ++long_done;
    });
    EXPECT_TRUE(threads.TryPost("short", [&] { short_done.set_value(); }));
    EXPECT_EQ(short_done.get_future().wait_for(std::chrono::seconds(5)), std::future_status::ready);
    release.set_value();
  }
  EXPECT_EQ(long_done, 6);
}

TEST_F(HttpLimitsTest, RefusesABodyWhenTooMuchIsInFlight) {
  auto server = Start({.connections_per_peer = 0, .bytes_in_flight = 2000, .least_request_bytes = 900});
  std::vector<RawConnection> holders;
  for (int i = 0; i < 2; ++i) {
    holders.emplace_back(server->port());
    holders.back().Send(BodyHead(1000) + std::string(999, 'x'));
  }
  std::string refusal;
  EXPECT_TRUE(testing::WaitFor([&] {
    RawConnection late(server->port());
    late.Send(BodyHead(1) + "x");
    late.ShutDownSending();
    refusal = late.ReceiveAll();
    return refusal.starts_with("HTTP/1.1 503");
  })) << refusal;
  EXPECT_THAT(refusal, HasSubstr("Retry-After: "));
  EXPECT_EQ(Client(server->port()).Get("/ping").status, 200);
  holders[0].Send("x");
  EXPECT_THAT(holders[0].ReceiveAll(), StartsWith("HTTP/1.1 200"));
  RawConnection next(server->port());
  next.Send(BodyHead(1) + "x");
  EXPECT_THAT(next.ReceiveAll(), StartsWith("HTTP/1.1 200"));
}

TEST_F(HttpLimitsTest, LetsNoPeerHaveAllThatIsInFlight) {
  auto server = Start({.bytes_in_flight = 4000, .least_request_bytes = 1});
  RawConnection holder(server->port(), 2);
  holder.Send(BodyHead(1000) + std::string(999, 'x'));
  EXPECT_TRUE(testing::WaitFor([&] {
    RawConnection same(server->port(), 2);
    same.Send(BodyHead(2) + "xx");
    same.ShutDownSending();
    return same.ReceiveAll().starts_with("HTTP/1.1 503");
  }));
  RawConnection other(server->port(), 3);
  other.Send(BodyHead(1) + "x");
  EXPECT_THAT(other.ReceiveAll(), StartsWith("HTTP/1.1 200"));
}

// One that is not whole gives way to others, and is refused so that it comes again.
TEST_F(HttpLimitsTest, ABodyThatDribblesGivesWayToOthers) {
  auto server = Start({.connections_per_peer = 0, .bytes_in_flight = 2000, .least_request_bytes = 900});
  std::vector<RawConnection> holders;
  for (int i = 0; i < 2; ++i) {
    holders.emplace_back(server->port());
    holders.back().Send(BodyHead(1000) + std::string(999, 'x'));
  }
  EXPECT_TRUE(testing::WaitFor(
      [&] { return metrics_.ToText().find("lagwatch_bytes_in_flight 1998\n") != std::string::npos; }));
  std::this_thread::sleep_for(Budget::kSafeTime + 100ms);
  RawConnection honest(server->port());
  honest.Send(BodyHead(1) + "x");
  EXPECT_THAT(honest.ReceiveAll(), StartsWith("HTTP/1.1 200"));
  EXPECT_THAT(holders[0].ReceiveAll(), StartsWith("HTTP/1.1 503"));
  holders[1].Send("x");
  EXPECT_THAT(holders[1].ReceiveAll(), StartsWith("HTTP/1.1 200"));
}

TEST_F(HttpLimitsTest, EndsABodyThatTakesTooLongAtAnyPace) {
  auto server = Start({.body_time = 500ms});
  RawConnection slow(server->port());
  slow.Send(BodyHead(1000));
  const auto begin = std::chrono::steady_clock::now();
  while (std::chrono::steady_clock::now() - begin < 3s && slow.TrySend(std::string(10, 'x')))
    std::this_thread::sleep_for(50ms);
  EXPECT_EQ(slow.ReceiveAll(), "");
  EXPECT_LT(std::chrono::steady_clock::now() - begin, 3s);
}

// A head that announces a body reserves nothing: that would shut others out for the price of a head.
TEST_F(HttpLimitsTest, ChargesBytesThatWereReadNotThoseAnnounced) {
  auto server = Start({.connections_per_peer = 0, .bytes_in_flight = 2000, .least_request_bytes = 1});
  std::vector<RawConnection> holders;
  for (int i = 0; i < 40; ++i) {
    holders.emplace_back(server->port());
    holders.back().Send(BodyHead(1000) + "x");
  }
  EXPECT_TRUE(testing::WaitFor(
      [&] { return metrics_.ToText().find("lagwatch_bytes_in_flight 40\n") != std::string::npos; }));
  RawConnection other(server->port());
  other.Send(BodyHead(1000) + std::string(1000, 'x'));
  EXPECT_THAT(other.ReceiveAll(), StartsWith("HTTP/1.1 200"));
}

TEST_F(HttpLimitsTest, RefusesTheRestOfABodyThatNoRoomIsLeftFor) {
  auto server = Start({.connections_per_peer = 0, .bytes_in_flight = 2000, .least_request_bytes = 1});
  std::vector<RawConnection> bodies;
  for (int i = 0; i < 3; ++i) {
    bodies.emplace_back(server->port());
    bodies.back().Send(BodyHead(1000));
  }
  EXPECT_TRUE(testing::WaitFor(
      [&] { return metrics_.ToText().find("lagwatch_connections 3\n") != std::string::npos; }));
  usleep(100'000);  // until the heads are read
  for (RawConnection& each : bodies) each.Send(std::string(900, 'x'));
  std::string answers;
  EXPECT_TRUE(testing::WaitFor([&] {
    for (RawConnection& each : bodies) answers += each.ReceiveReady();
    return testing::Count(answers, "HTTP/1.1 503") >= 1;
  })) << answers;
  EXPECT_THAT(answers, HasSubstr("Retry-After: "));
  for (RawConnection& each : bodies) each.TrySend(std::string(100, 'x'));
  for (RawConnection& each : bodies) answers += each.ReceiveAll();
  EXPECT_GE(testing::Count(answers, "HTTP/1.1 200"), 1u);
}

// Bodies whose key is looked for in them.
TEST_F(HttpLimitsTest, BodiesWithoutAKeyInTheHeadTakeNoRoomFromOthers) {
  const auto post = [](const std::string& more) {
    return "POST /sentry HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: 400\r\n" + more + "\r\n";
  };
  auto server = Start({.connections_per_peer = 0, .bytes_in_flight = 2000, .least_request_bytes = 1});
  RawConnection keyless(server->port());
  keyless.Send(post("") + std::string(399, 'x'));
  EXPECT_TRUE(testing::WaitFor([&] {
    return metrics_.ToText().find("lagwatch_keyless_bytes_in_flight 399\n") != std::string::npos;
  })) << metrics_.ToText();
  EXPECT_THAT(metrics_.ToText(), HasSubstr("lagwatch_bytes_in_flight 0\n"));
  RawConnection second(server->port());
  second.Send(post("") + std::string(400, 'x'));
  EXPECT_THAT(second.ReceiveAll(), StartsWith("HTTP/1.1 503"));
  RawConnection keyed(server->port());
  keyed.Send(post("X-Sentry-Auth: Sentry sentry_key=k\r\n") + std::string(400, 'x'));
  EXPECT_THAT(keyed.ReceiveAll(), StartsWith("HTTP/1.1 200"));
  RawConnection wrong(server->port());
  wrong.Send(post("X-Sentry-Auth: Sentry sentry_key=other\r\n"));
  EXPECT_THAT(wrong.ReceiveAll(), StartsWith("HTTP/1.1 401"));
  keyless.Send("x");
  EXPECT_THAT(keyless.ReceiveAll(), StartsWith("HTTP/1.1 200"));
}

TEST_F(HttpLimitsTest, CountsTheConnectionsOfEachPeer) {
  auto server = Start({.connections_per_peer = 3});
  std::vector<RawConnection> idle;
  for (int i = 0; i < 3; ++i) idle.emplace_back(server->port(), 2);
  RawConnection fourth(server->port(), 2);
  EXPECT_EQ(fourth.ReceiveAll(), "");
  RawConnection other(server->port(), 3);
  other.Send(kPing);
  EXPECT_THAT(other.ReceiveAll(), StartsWith("HTTP/1.1 200"));
  idle.pop_back();
  EXPECT_TRUE(testing::WaitFor([&] {
    RawConnection again(server->port(), 2);
    return again.TrySend(kPing) && again.ReceiveAll().starts_with("HTTP/1.1 200");
  }));
}

TEST_F(HttpLimitsTest, CountsAllConnections) {
  auto server = Start({.connections = 2, .connections_per_peer = 0});
  RawConnection first(server->port(), 2);
  RawConnection second(server->port(), 3);
  RawConnection third(server->port(), 4);
  EXPECT_EQ(third.ReceiveAll(), "");
}

TEST_F(HttpLimitsTest, CountsWhatItAnswersAndHolds) {
  auto server = Start({.connections_per_peer = 2});
  RawConnection holder(server->port(), 2);
  holder.Send(BodyHead(1000) + std::string(999, 'x'));
  RawConnection(server->port(), 2).Send("GET /no-path HTTP/1.1\r\nHost: x\r\n\r\n");
  EXPECT_EQ(Client(server->port()).Get("/ping").status, 200);
  EXPECT_TRUE(testing::WaitFor([&] {
    const std::string text = metrics_.ToText();
    return text.find("lagwatch_bytes_in_flight 999\n") != text.npos &&
           text.find(R"(lagwatch_http_answers_total{code="404",path=""} 1)") != text.npos;
  })) << metrics_.ToText();
  EXPECT_THAT(metrics_.ToText(), HasSubstr(R"(lagwatch_http_answers_total{code="200",path="/ping"} 1)"));
  holder.Send("x");
  holder.ReceiveAll();
  EXPECT_TRUE(testing::WaitFor([&] {
    const std::string text = metrics_.ToText();
    return text.find("lagwatch_bytes_in_flight 0") != text.npos &&
           text.find("lagwatch_connections 0") != text.npos;
  })) << metrics_.ToText();
}

TEST(LimitedLog, LeavesOutWhatIsTooMuch) {
  LimitedLog log;
  for (int i = 0; i < 1000; ++i) log.Info("a line");
  EXPECT_GT(log.left_out(), 900u);
  EXPECT_LT(log.left_out(), 951u);
}

TEST(LimitedLog, QuotesWhatSomebodySent) {
  EXPECT_EQ(Quoted("a\nb\x1b[1m\"\xff"), R"("a\nb\u001b[1m\"�")");
  EXPECT_LT(Quoted(std::string(100'000, 'x')).size(), 210u);
}

TEST_F(HttpLimitsTest, EndsABodyThatFallsBehind) {
  auto server = Start({.pace_bytes_per_s = 1000, .grace = 100ms});
  RawConnection slow(server->port());
  slow.Send(BodyHead(1000) + "x");
  EXPECT_EQ(slow.ReceiveAll(), "");
}

TEST_F(HttpLimitsTest, EndsAnIdleConnection) {
  auto server = Start({.idle_time = 50ms});
  RawConnection idle(server->port());
  idle.Send("GET /ping HTTP/1.1\r\nHost: x\r\n\r\n");
  EXPECT_THAT(idle.ReceiveAll(), HasSubstr("pong"));
}

TEST_F(HttpLimitsTest, CutsWhatTakesTooLongWhenItStops) {
  auto server = Start({.stop_time = 100ms});
  RawConnection slow(server->port());
  slow.Send(BodyHead(1000));
  EXPECT_EQ(Client(server->port()).Get("/ping").status, 200);
  server->Stop();
  EXPECT_EQ(slow.ReceiveAll(), "");
}

TEST_F(HttpLimitsTest, WaitsForAnAnswerThatIsOnItsWayWhenItStops) {
  auto server = Start({});
  RawConnection waiting(server->port());
  waiting.Send("GET /late HTTP/1.1\r\nHost: x\r\n\r\n");
  Respond respond = late_.get_future().get();
  auto stopped = std::async(std::launch::async, [&] { server->Stop(); });
  EXPECT_EQ(stopped.wait_for(50ms), std::future_status::timeout);
  respond({200, "\"at last\""});
  EXPECT_THAT(waiting.ReceiveAll(), HasSubstr("at last"));
  stopped.get();
}

}  // namespace
}  // namespace lagwatch::collector
