// SPDX-License-Identifier: Apache-2.0
#include "stack/threads/thread_counters.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include "base/clock.h"
#include "tests/testing/emulation.h"
#include "tests/testing/process.h"
#include "tests/testing/stalls.h"

namespace lagwatch::stack {
namespace {

SchedulerCounters CountersOf(int tid) {
  SchedulerCounters counters;
  EXPECT_TRUE(ReadSchedulerCounters(base::OwnThread(tid), &counters));
  return counters;
}

using testing::StalledThread;

ThreadStat Stat(int tid) {
  ThreadStat stat;
  EXPECT_TRUE(ReadThreadStat(base::OwnThread(tid), &stat));
  return stat;
}

TEST(ThreadStat, ASpinUsesTheProcessorInTheProgram) {
  LAGWATCH_SKIP_UNDER_EMULATION("/proc counts the emulator's work");
  StalledThread thread(testing::Spin);
  EXPECT_TRUE(testing::WaitUntil([&] { return Stat(thread.tid()).user_ns >= 100 * base::kNsPerMs; }));
  ThreadStat stat = Stat(thread.tid());
  EXPECT_EQ(stat.state, 'R');
  EXPECT_LT(stat.kernel_ns, stat.user_ns);
}

TEST(ThreadStat, FaultsOfFreshMemoryAreMinor) {
  LAGWATCH_SKIP_UNDER_EMULATION("/proc counts the emulator's faults");
  StalledThread thread(testing::FaultPages);
  int64_t before = Stat(thread.tid()).minor_faults;
  EXPECT_TRUE(testing::WaitUntil([&] { return Stat(thread.tid()).minor_faults > before + 1000; }));
}

TEST(SchedulerCounters, NapsAreVoluntarySwitches) {
  StalledThread thread([](const testing::StopFlag& stop) {
    while (!stop.load()) usleep(1000);
  });
  int64_t before = CountersOf(thread.tid()).voluntary_switches;
  EXPECT_TRUE(testing::WaitUntil([&] { return CountersOf(thread.tid()).voluntary_switches > before + 10; }));
}

TEST(SchedulerCounters, WaitsForAProcessorAreCountedInNanoseconds) {
  LAGWATCH_SKIP_UNDER_EMULATION("the emulator's threads are others");
  StalledThread thread([](const testing::StopFlag& stop) {
    while (!stop.load()) usleep(1000);
  });
  int64_t before = CountersOf(thread.tid()).run_queue_ns;
  EXPECT_TRUE(testing::WaitUntil([&] { return CountersOf(thread.tid()).run_queue_ns > before; }));
}

TEST(ThreadStat, AThreadThatIsGoneHasNone) {
  int tid;
  {
    StalledThread thread(testing::Spin);
    tid = thread.tid();
  }
  ThreadStat stat;
  EXPECT_TRUE(testing::WaitUntil([&] { return !ReadThreadStat(base::OwnThread(tid), &stat); }));
}

TEST(ThrottleCounters, ThrottlingNeverGoesBack) {
  ThrottleCounters before = ReadThrottleCounters(base::OwnThread(gettid()));
  ThrottleCounters after = ReadThrottleCounters(base::OwnThread(gettid()));
  EXPECT_GE(after.times, before.times);
  EXPECT_GE(after.throttled_ns, before.throttled_ns);
}

}  // namespace
}  // namespace lagwatch::stack
