// SPDX-License-Identifier: Apache-2.0
// Two contexts with a thread each, and one that is run by three threads, two of which hang at the same time.
// clang-format off
#include <utility>  // Boost 1.74 forgets it
#include <boost/asio.hpp>
#include <lagwatch/adapters/asio.h>
// clang-format on

#include <chrono>
#include <thread>
#include <vector>

#define PLANTED_HANG_MS 450
#include "tests/sdk/adapters/planted.h"

PLANTED(HangInFirst, "OnFirst")
PLANTED(HangInSecond, "OnSecond")
PLANTED(HangInShared, "OnShared")
PLANTED(HangInOther, "OnOther")

namespace asio = boost::asio;

struct OnFirst {
  void operator()(const boost::system::error_code&) { HangInFirst(); }
};
struct OnSecond {
  void operator()(const boost::system::error_code&) { HangInSecond(); }
};
struct OnShared {
  void operator()() { HangInShared(); }
};
struct OnOther {
  void operator()() { HangInOther(); }
};

int main(int count, char** arguments) {
  planted_start(count, arguments);
  asio::io_context first, second, shared;
  asio::steady_timer first_timer(first, std::chrono::milliseconds(100));
  asio::steady_timer second_timer(second, std::chrono::milliseconds(200));
  asio::steady_timer end(shared, std::chrono::milliseconds(900));
  first_timer.async_wait(lagwatch::Watched(OnFirst()));
  second_timer.async_wait(lagwatch::Watched(OnSecond()));
  end.async_wait(lagwatch::Watched([](const boost::system::error_code&) {}));
  asio::post(shared, lagwatch::Watched(OnShared()));
  asio::post(shared, lagwatch::Watched(OnOther()));
  std::vector<std::thread> threads;
  for (asio::io_context* context : {&first, &second, &shared, &shared, &shared})
    threads.emplace_back([context] { context->run(); });
  for (std::thread& thread : threads) thread.join();
  lw_stop(0);
}
