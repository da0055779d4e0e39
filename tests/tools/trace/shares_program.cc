// SPDX-License-Identifier: Apache-2.0
// A program whose functions have known shares of its time.
//
//   shares_program mixed SECONDS EXIT_CODE    in turns 17 ms SharesHot, 6 ms SharesWarm, 11 ms SharesRest
//   shares_program phases SECONDS EXIT_CODE   SharesHot for the first half of the time, then SharesWarm
//
// These are no multiples of an interval of samplers. Another thread is in SharesIdle all the time. Prints
// "ready" when all of it goes on.
#include <pthread.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>

#define FUNCTION extern "C" [[gnu::noinline, gnu::used]] void

namespace {

constexpr long long kNsPerMs = 1'000'000;

long long ReadNs(clockid_t clock) {
  timespec now{};
  clock_gettime(clock, &now);
  return now.tv_sec * 1'000'000'000LL + now.tv_nsec;
}

[[gnu::always_inline]] inline void Spin(long long ms) {
  const long long end_ns = ReadNs(CLOCK_THREAD_CPUTIME_ID) + ms * kNsPerMs;
  while (ReadNs(CLOCK_THREAD_CPUTIME_ID) < end_ns) {
    for (int i = 0; i < 100'000; ++i) asm volatile("");
  }
}

[[gnu::always_inline]] inline void Sleep(long long ms) {
  const timespec pause{ms / 1000, ms % 1000 * kNsPerMs};
  nanosleep(&pause, nullptr);
}

}  // namespace

FUNCTION SharesHot() { Spin(17); }
FUNCTION SharesWarm() { Spin(6); }
FUNCTION SharesRest() { Sleep(11); }

FUNCTION SharesIdle() {
  while (true) Sleep(100'000);
}

FUNCTION SharesMixed(long long end_ns) {
  while (ReadNs(CLOCK_MONOTONIC) < end_ns) {
    SharesHot();
    SharesWarm();
    SharesRest();
  }
}

FUNCTION SharesPhases(long long begin_ns, long long end_ns) {
  while (ReadNs(CLOCK_MONOTONIC) < begin_ns + (end_ns - begin_ns) / 2) SharesHot();
  while (ReadNs(CLOCK_MONOTONIC) < end_ns) SharesWarm();
}

int main(int argc, char** argv) {
  if (argc != 4) return 2;
  pthread_t idle{};
  const auto run_idle = [](void*) -> void* {
    SharesIdle();
    return nullptr;
  };
  if (pthread_create(&idle, nullptr, run_idle, nullptr) != 0) return 2;
  std::puts("ready");
  std::fflush(stdout);
  const long long begin_ns = ReadNs(CLOCK_MONOTONIC);
  const long long end_ns = begin_ns + std::atoll(argv[2]) * 1000 * kNsPerMs;
  std::strcmp(argv[1], "mixed") == 0 ? SharesMixed(end_ns) : SharesPhases(begin_ns, end_ns);
  return std::atoi(argv[3]);
}
