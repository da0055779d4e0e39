// SPDX-License-Identifier: Apache-2.0
// Handlers of Asio, one of which blocks its thread.
// clang-format off
#include <utility>  // Boost 1.74 forgets it
#include <boost/asio.hpp>
#include <lagwatch/adapters/asio.h>
// clang-format on

#include <chrono>
#include <thread>

struct OnRequest {
  void operator()() const { std::this_thread::sleep_for(std::chrono::milliseconds(3000)); }
};

int main() {
  auto monitor = lagwatch::Monitor::Start({.app = "asio-sample"});
  boost::asio::io_context context;
  boost::asio::post(context, lagwatch::Watched(OnRequest()));
  context.run();
}
