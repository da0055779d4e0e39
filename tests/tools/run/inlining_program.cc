// SPDX-License-Identifier: Apache-2.0
// A program that freezes in a function that its compiler inlines: HashOneRow, in Cart::Save, for 300 ms of
// processor time.
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <cstdint>
#include <ctime>
#include <initializer_list>

namespace shop {
namespace {

long ReadMs() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return now.tv_sec * 1000 + now.tv_nsec / 1'000'000;
}

[[gnu::always_inline]] inline void HashOneRow(long ms) {
  const long end_ms = ReadMs() + ms;
  while (ReadMs() < end_ms) {
    for (int i = 0; i < 1'000'000; ++i) asm volatile("" : "+r"(i));
  }
}

}  // namespace

struct Cart {
  void Save(long ms);
};

[[gnu::noinline]] void Cart::Save(long ms) {
  HashOneRow(ms);
  asm volatile("");
}

}  // namespace shop

int main() {
  constexpr int kFrozenTurn = 20;
  const int epoll = epoll_create1(EPOLL_CLOEXEC);
  const int timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC);
  const int other = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC);
  const itimerspec period{{0, 10'000'000}, {0, 10'000'000}};
  for (int fd : {timer, other}) {
    timerfd_settime(fd, 0, &period, nullptr);
    epoll_event wanted{.events = EPOLLIN, .data = {.fd = fd}};
    epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &wanted);
  }
  for (int turn = 0; turn < kFrozenTurn + 10; ++turn) {
    epoll_event event{};
    uint64_t expirations = 0;
    if (epoll_wait(epoll, &event, 1, -1) == 1 && read(event.data.fd, &expirations, sizeof expirations) < 0)
      return 1;
    if (turn == kFrozenTurn) shop::Cart().Save(300);
  }
  return 0;
}
