// SPDX-License-Identifier: Apache-2.0
// A program as it is shipped: optimized, its calls inlined, and stripped. Freezes for a second.
//
//   shipped SPOOL ENDPOINT KEY
#include <lagwatch/lagwatch.h>

#include <chrono>

namespace search {

inline void ScanPostings(std::chrono::milliseconds duration) {
  const auto end = std::chrono::steady_clock::now() + duration;
  while (std::chrono::steady_clock::now() < end) {
    for (int i = 0; i < 100'000; ++i) asm volatile("");  // here, and not in the clock, is where the time goes
  }
}

[[gnu::noinline]] void RebuildIndex() {
  ScanPostings(std::chrono::milliseconds(1000));
  asm volatile("");
}

}  // namespace search

int main(int argc, char** argv) {
  if (argc != 4) return 2;
  auto monitor = lagwatch::Monitor::Start({.app = "shipped",
                                           .app_version = "1.0",
                                           .endpoint = argv[2],
                                           .key = argv[3],
                                           .user = "u-1",
                                           .spool_directory = argv[1],
                                           .threshold_ms = 200,
                                           .upload = {.user_rate_ppm = 1'000'000}});
  auto loop = monitor.WatchLoop("ui");
  {
    lagwatch::ScopedDispatch dispatch(loop, "index");
    search::RebuildIndex();
  }
  monitor.Stop(20'000);
  return 0;
}
