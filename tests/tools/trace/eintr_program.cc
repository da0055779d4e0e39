// SPDX-License-Identifier: Apache-2.0
// A program that sleeps in calls which a signal would end, with and without a timeout, each in a thread:
//
//   eintr_program
//
// prints a line when it runs, ends when its standard input does, and prints how many calls failed with EINTR.
#include <poll.h>
#include <sys/epoll.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <ctime>
#include <thread>
#include <vector>

namespace {

std::atomic<bool> g_is_over{false};
std::atomic<int> g_interrupted{0};

template <typename Call>
void Repeat(Call call) {
  while (!g_is_over) {
    if (call() < 0 && errno == EINTR) ++g_interrupted;
  }
}

// `timeout_ms` is -1 for none.
int WaitByEpoll(int epoll, int timeout_ms) {
  epoll_event event{};
  return epoll_wait(epoll, &event, 1, timeout_ms);
}

int WaitByPoll(int fd, int timeout_ms) {
  pollfd wanted{.fd = fd, .events = POLLIN, .revents = 0};
  return poll(&wanted, 1, timeout_ms);
}

int Sleep(long ms) {
  const timespec pause{ms / 1000, ms % 1000 * 1'000'000};
  return nanosleep(&pause, nullptr);
}

int Read(int fd) {
  char byte;
  return static_cast<int>(read(fd, &byte, 1));
}

}  // namespace

int main() {
  constexpr int kLongMs = 1'000;
  int quiet[2];
  if (pipe(quiet) != 0) return 1;
  const int epoll = epoll_create1(EPOLL_CLOEXEC);
  epoll_event event{};
  event.events = EPOLLIN;
  epoll_ctl(epoll, EPOLL_CTL_ADD, quiet[0], &event);
  std::vector<std::thread> threads;
  threads.emplace_back([=] { Repeat([=] { return WaitByEpoll(epoll, kLongMs); }); });
  threads.emplace_back([=] { Repeat([=] { return WaitByEpoll(epoll, -1); }); });
  threads.emplace_back([=] { Repeat([=] { return WaitByPoll(quiet[0], kLongMs); }); });
  threads.emplace_back([=] { Repeat([=] { return WaitByPoll(quiet[0], -1); }); });
  threads.emplace_back([=] { Repeat([=] { return Sleep(kLongMs); }); });
  threads.emplace_back([=] { Repeat([=] { return Read(quiet[0]); }); });
  std::puts("ready");
  std::fflush(stdout);
  for (int got = 1; got != 0;) {
    got = Read(STDIN_FILENO);
    if (got < 0 && errno == EINTR) ++g_interrupted;
  }
  g_is_over = true;
  close(quiet[1]);  // ends all that wait for it
  for (std::thread& thread : threads) thread.join();
  std::printf("%d interrupted\n", g_interrupted.load());
  return 0;
}
