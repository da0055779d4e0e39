// SPDX-License-Identifier: Apache-2.0
#include <lagwatch/lagwatch.h>

#include <iostream>
#include <string>
#include <thread>

int main() {
  auto monitor = lagwatch::Monitor::Start({.app = "hello", .app_version = "1.0"});
  auto loop = monitor.WatchLoop("main");
  for (std::string event; std::getline(std::cin, event);) {
    lagwatch::ScopedDispatch dispatch(loop, event.c_str());
    if (event == "freeze") std::this_thread::sleep_for(std::chrono::seconds(3));
  }
}
