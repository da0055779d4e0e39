// SPDX-License-Identifier: Apache-2.0
#include "stack/thread_counters.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include "base/clock.h"
#include "tests/testing/emulation.h"
#include "tests/testing/process.h"
#include "tests/testing/stalls.h"

namespace lagwatch::stack {
namespace {

using testing::StalledThread;

ThreadCounters Read(int tid) {
  ThreadCounters counters;
  EXPECT_TRUE(ReadThreadCounters(tid, &counters));
  return counters;
}

TEST(ThreadCounters, ASpinUsesTheProcessorInTheProgram) {
  LAGWATCH_SKIP_UNDER_EMULATION("/proc counts the emulator's work");
  StalledThread thread(testing::Spin);
  EXPECT_TRUE(testing::WaitUntil([&] { return Read(thread.tid()).user_ns >= 100 * base::kNsPerMs; }));
  ThreadCounters counters = Read(thread.tid());
  EXPECT_EQ(counters.state, 'R');
  EXPECT_LT(counters.kernel_ns, counters.user_ns);
}

TEST(ThreadCounters, FaultsOfFreshMemoryAreMinor) {
  LAGWATCH_SKIP_UNDER_EMULATION("/proc counts the emulator's faults");
  StalledThread thread(testing::FaultPages);
  int64_t before = Read(thread.tid()).minor_faults;
  EXPECT_TRUE(testing::WaitUntil([&] { return Read(thread.tid()).minor_faults > before + 1000; }));
}

TEST(ThreadCounters, NapsAreVoluntarySwitches) {
  StalledThread thread([](const testing::StopFlag& stop) {
    while (!stop.load()) usleep(1000);
  });
  int64_t before = Read(thread.tid()).voluntary_switches;
  EXPECT_TRUE(testing::WaitUntil([&] { return Read(thread.tid()).voluntary_switches > before + 10; }));
}

TEST(ThreadCounters, WaitsForAProcessorAreCountedInNanoseconds) {
  LAGWATCH_SKIP_UNDER_EMULATION("the emulator's threads are others");
  StalledThread thread([](const testing::StopFlag& stop) {
    while (!stop.load()) usleep(1000);
  });
  int64_t before = Read(thread.tid()).run_queue_ns;
  EXPECT_TRUE(testing::WaitUntil([&] { return Read(thread.tid()).run_queue_ns > before; }));
}

TEST(ThreadCounters, AThreadThatIsGoneHasNone) {
  int tid;
  {
    StalledThread thread(testing::Spin);
    tid = thread.tid();
  }
  ThreadCounters counters;
  EXPECT_TRUE(testing::WaitUntil([&] { return !ReadThreadCounters(tid, &counters); }));
}

TEST(ThreadCounters, ThrottlingNeverGoesBack) {
  ThrottleCounters before = ReadThrottleCounters(gettid());
  ThrottleCounters after = ReadThrottleCounters(gettid());
  EXPECT_GE(after.times, before.times);
  EXPECT_GE(after.throttled_ns, before.throttled_ns);
}

}  // namespace
}  // namespace lagwatch::stack
