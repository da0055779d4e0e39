// SPDX-License-Identifier: Apache-2.0
// A loop that lagwatch does not know: it finds an event at each poll, and handles all of them alike. Prints
// how long it handled the longest.
//
//   turning_program TURNS MS
#include <sys/epoll.h>
#include <sys/eventfd.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>

namespace {

int64_t NowNs() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * int64_t{1'000'000'000} + now.tv_nsec;
}

}  // namespace

extern "C" [[gnu::noinline]] void TurningHandle(int64_t end_ns) {
  while (NowNs() < end_ns) {
    void* volatile memory = std::malloc(64);
    std::free(memory);
  }
  asm volatile("" ::: "memory");
}

extern "C" [[gnu::noinline]] int64_t TurningLoop(int turns, int64_t turn_ns) {
  const int poll = epoll_create1(0);
  epoll_event event{.events = EPOLLIN, .data = {}};
  epoll_ctl(poll, EPOLL_CTL_ADD, eventfd(1, 0), &event);
  int64_t longest_ns = 0;
  for (int i = 0; i < turns; ++i) {
    epoll_wait(poll, &event, 1, -1);
    const int64_t begin_ns = NowNs();
    TurningHandle(begin_ns + turn_ns);
    longest_ns = std::max(longest_ns, NowNs() - begin_ns);
  }
  return longest_ns;
}

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  std::printf("%lld\n",
              static_cast<long long>(TurningLoop(std::atoi(argv[1]), std::atoll(argv[2]) * 1'000'000)));
  return 0;
}
