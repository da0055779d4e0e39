// SPDX-License-Identifier: Apache-2.0
#include "base/sleeper.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "base/clock.h"

namespace lagwatch::base {
namespace {

// Longer than any test may last: a sleep that gets there was not woken.
constexpr int64_t kForEverNs = 3600 * kNsPerSecond;

int64_t NowNs() { return SystemClock().MonoNs(); }

TEST(Sleeper, SleepsUntilItsDeadlineAndNotLess) {
  Sleeper sleeper;
  for (int64_t sleep_ns : {kNsPerMs / 10, kNsPerMs, 20 * kNsPerMs}) {
    int64_t deadline_ns = NowNs() + sleep_ns;
    sleeper.SleepUntil(deadline_ns);
    EXPECT_GE(NowNs(), deadline_ns);
  }
}

TEST(Sleeper, UsesNoCpuWhileItSleeps) {
  Sleeper sleeper;
  constexpr int64_t kSleepNs = 100 * kNsPerMs;
  int64_t cpu_before_ns = ProcessCpuNs();
  sleeper.SleepUntil(NowNs() + kSleepNs);
  EXPECT_LT(ProcessCpuNs() - cpu_before_ns, kSleepNs / 4);
}

TEST(Sleeper, DoesNotSleepUntilATimeThatHasPassed) {
  Sleeper sleeper;
  for (int64_t past_ns : {NowNs(), int64_t{0}, int64_t{-1}, INT64_MIN}) {
    int64_t before_ns = NowNs();
    sleeper.SleepUntil(past_ns);
    EXPECT_LT(NowNs() - before_ns, kForEverNs);
  }
}

TEST(Sleeper, KeepsAWakeThatCameBeforeTheSleepButOnlyForOneSleep) {
  Sleeper sleeper;
  sleeper.Wake();
  sleeper.Wake();
  sleeper.SleepUntil(NowNs() + kForEverNs);
  int64_t deadline_ns = NowNs() + 5 * kNsPerMs;
  sleeper.SleepUntil(deadline_ns);
  EXPECT_GE(NowNs(), deadline_ns);
}

TEST(Sleeper, LosesNoWakeOfAnotherThread) {
  constexpr int kRounds = 2'000;
  Sleeper ping;
  Sleeper pong;
  std::thread partner([&] {
    for (int round = 0; round < kRounds; ++round) {
      ping.SleepUntil(NowNs() + kForEverNs);
      pong.Wake();
    }
  });
  for (int round = 0; round < kRounds; ++round) {
    ping.Wake();
    pong.SleepUntil(NowNs() + kForEverNs);
  }
  partner.join();
}

}  // namespace
}  // namespace lagwatch::base
