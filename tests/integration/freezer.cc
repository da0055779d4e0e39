// SPDX-License-Identifier: Apache-2.0
// A program with lagwatch in it that does as it is told on standard input, one command a line:
//   freeze MS   one dispatch of that length      hang   one that never ends
//   exit        ends the process in a dispatch   quit   stops the monitor and flushes
//
//   freezer SPOOL [ENDPOINT KEY]
#include <lagwatch/lagwatch.h>

#include <chrono>
#include <cstdlib>
#include <iostream>
#include <string>

namespace {

[[gnu::noinline]] void FreezeHere(std::chrono::milliseconds duration) {
  auto end = std::chrono::steady_clock::now() + duration;
  while (std::chrono::steady_clock::now() < end) {
    for (int i = 0; i < 100'000; ++i) asm volatile("");  // here, and not in the clock, is where the time goes
  }
  asm volatile("");
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) return 2;
  auto monitor = lagwatch::Monitor::Start({.app = "freezer",
                                           .app_version = "1",
                                           .endpoint = argc > 2 ? argv[2] : "",
                                           .key = argc > 3 ? argv[3] : "",
                                           .user = "u-1",
                                           .spool_directory = argv[1],
                                           .threshold_ms = 100,
                                           .check_period_ms = 100,
                                           .sample_interval_ms = 10});
  if (!monitor.is_on()) {
    std::cerr << monitor.why_off() << "\n";
    return 1;
  }
  auto loop = monitor.WatchLoop("main");
  std::cout << "ready" << std::endl;
  for (std::string command; std::cin >> command && command != "quit";) {
    int ms = 3'600'000;
    if (command == "freeze") std::cin >> ms;
    {
      lagwatch::ScopedDispatch dispatch(loop, "freeze");
      if (command == "exit") std::exit(0);
      FreezeHere(std::chrono::milliseconds(ms));
    }
    std::cout << "thawed" << std::endl;
  }
  monitor.Stop(5000);
  std::cout << "reports " << monitor.stats().reports_written << std::endl;
}
