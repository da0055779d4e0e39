// SPDX-License-Identifier: Apache-2.0
// clang-format off
#include <utility>  // Boost 1.74 forgets it
#include <boost/asio.hpp>
#include <lagwatch/adapters/asio.h>
// clang-format on

#include <chrono>
#include <thread>
#include <vector>

#include "tests/sdk/adapters/planted.h"

PLANTED(HangInTimer, "OnTimer")
PLANTED(HangInStrand, "OnStrand")
PLANTED(HangInRead, "OnRead")

namespace asio = boost::asio;
using lagwatch::Watched;

struct OnTimer {
  void operator()(const boost::system::error_code&) { HangInTimer(); }
};

using Strand = asio::strand<asio::io_context::executor_type>;
struct OnStrand {
  Strand* strand;
  void operator()() {
    if (!strand->running_in_this_thread()) std::abort();
    HangInStrand();
  }
};

struct OnRead {
  void operator()(const boost::system::error_code&, size_t) { HangInRead(); }
};

int main(int count, char** arguments) {
  planted_start(count, arguments);
  asio::io_context context;
  Strand strand(context.get_executor());
  asio::steady_timer timer(context, std::chrono::milliseconds(200));
  asio::steady_timer write_timer(context, std::chrono::milliseconds(1500));
  asio::steady_timer end(context, std::chrono::milliseconds(2800));
  asio::local::stream_protocol::socket ours(context);
  asio::local::stream_protocol::socket theirs(context);
  asio::local::connect_pair(ours, theirs);
  char byte = 0;
  timer.async_wait(Watched(OnTimer()));
  asio::post(context, Watched(asio::bind_executor(strand, [&] {
               // As those of others, it is short.
               asio::post(Watched(asio::bind_executor(strand, OnStrand{&strand})));
             })));
  ours.async_read_some(asio::buffer(&byte, 1), Watched(OnRead()));
  write_timer.async_wait(
      Watched([&](const boost::system::error_code&) { theirs.write_some(asio::buffer("x", 1)); }));
  end.async_wait(Watched([](const boost::system::error_code&) {}));
  std::vector<std::thread> threads;
  for (int i = 0; i < 3; ++i) threads.emplace_back([&] { context.run(); });
  for (std::thread& thread : threads) thread.join();
  lw_stop(0);
}
