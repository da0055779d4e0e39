// SPDX-License-Identifier: Apache-2.0
// Threads that wait for a processor: their stacks, and the word for what they would do with one.
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/resource.h>

#include <memory>

#include "policies/fact_names.h"
#include "tests/watchdog/watchdog_testing.h"

namespace lagwatch::watchdog {
namespace {

class BusyMachineTest : public WatchdogTest {
 protected:
  // Beside two threads on one processor, of which each has a weight of some forty times its own.
  static void Starve(const testing::StopFlag& stop,
                     const std::function<void(const testing::StopFlag&)>& stall) {
    const int processor = sched_getcpu();
    const auto beside = [processor](const testing::StopFlag& flag) {
      Bind(processor);
      testing::Spin(flag);
    };
    const testing::StalledThread first(beside);
    const testing::StalledThread second(beside);
    Bind(processor);
    setpriority(PRIO_PROCESS, static_cast<id_t>(gettid()), 17);
    stall(stop);
  }
  static void Bind(int processor) {
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(processor, &set);
    sched_setaffinity(0, sizeof set, &set);
  }
};

TEST_F(BusyMachineTest, AThreadThatHadAProcessorNowAndThenHasAStackAndTwoWords) {
  options_.threshold_ns = 2000 * base::kNsPerMs;
  options_.sample_interval_ns = 50 * base::kNsPerMs;
  Start();
  const auto spin = Dispatch([](const testing::StopFlag& stop) { testing::Spin(stop); });
  const testing::StalledThread thread([&](const testing::StopFlag& stop) { Starve(stop, spin); });
  ASSERT_TRUE(WaitForHangs(1));
  const testing::RecordedHang hang = sink_.hangs()[0];
  // Its first turn shows that it computes, its second one takes the signal.
  if (hang.cpu_thread_ns > 8 * base::kNsPerMs) {
    EXPECT_NE(hang.innermost_function, 0u);
  }
  if (hang.verdict.word == policies::VerdictWord::kStarved) {
    EXPECT_EQ(hang.texts.at(policies::kWithProcessorFact), "cpu");
    EXPECT_NE(hang.texts.at(policies::kProcessorUsersFact).find(" %"), std::string::npos);
  }
  EXPECT_LE(hang.verdict.shares.run_queue_ns, hang.verdict.shares.wall_ns);
}

}  // namespace
}  // namespace lagwatch::watchdog
