// SPDX-License-Identifier: Apache-2.0
// A program in the background whose one busy thread, "burner", uses all CPU that it gets until its input
// ends. The limit is so low that any machine exceeds it.
//
//   burner SPOOL
#include <lagwatch/lagwatch.h>
#include <pthread.h>

#include <atomic>
#include <iostream>
#include <thread>

namespace {

[[gnu::noinline]] void BurnHere() {
  for (int i = 0; i < 100'000; ++i) asm volatile("");
}

[[gnu::noinline]] void BurnUntil(const std::atomic<bool>& is_over) {
  while (!is_over.load()) BurnHere();
  asm volatile("");
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  lw_set_foreground(0);
  auto monitor = lagwatch::Monitor::Start({.app = "burner",
                                           .spool_directory = argv[1],
                                           .cpu = {.is_watched = true,
                                                   .percent = 1,
                                                   .average_percent = 0,
                                                   .background_percent = 1,
                                                   .window_ms = 2000}});
  if (!monitor.is_on()) return 1;
  std::atomic<bool> is_over{false};
  std::thread burner([&] {
    pthread_setname_np(pthread_self(), "burner");
    BurnUntil(is_over);
  });
  while (std::cin.get() != EOF) {
  }
  is_over = true;
  burner.join();
}
