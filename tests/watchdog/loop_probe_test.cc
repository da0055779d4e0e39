// SPDX-License-Identifier: Apache-2.0
#include "watchdog/loop_probe.h"

#include <gtest/gtest.h>

#include <thread>

namespace lagwatch::watchdog {
namespace {

TEST(LoopProbe, ShowsTheDispatchUnderWay) {
  LoopProbe probe;
  EXPECT_EQ(probe.Read().number, 0u);
  uint64_t before = base::ReadTicks();
  probe.Begin("first");
  LoopProbe::Dispatch dispatch = probe.Read();
  EXPECT_EQ(dispatch.number, 1u);
  EXPECT_STREQ(dispatch.tag, "first");
  EXPECT_GE(dispatch.begin_ticks, before);
  EXPECT_TRUE(probe.IsStillIn(1));
  probe.End();
  EXPECT_EQ(probe.Read().number, 0u);
  EXPECT_FALSE(probe.IsStillIn(1));
  probe.Begin("second");
  EXPECT_EQ(probe.Read().number, 2u);
}

TEST(LoopProbe, CountsOnlyTheOutermostOfNestedDispatches) {
  LoopProbe probe;
  probe.Begin("outer");
  probe.Begin("inner");
  EXPECT_STREQ(probe.Read().tag, "outer");
  probe.End();
  EXPECT_TRUE(probe.IsStillIn(1));
  probe.End();
  EXPECT_FALSE(probe.IsStillIn(1));
}

TEST(LoopProbe, IgnoresAStrayEnd) {
  LoopProbe probe;
  probe.End();
  probe.Begin("one");
  EXPECT_EQ(probe.Read().number, 1u);
  probe.End();
  probe.End();
  EXPECT_EQ(probe.Read().number, 0u);
  probe.Begin("two");
  EXPECT_EQ(probe.Read().number, 2u);
}

TEST(LoopProbe, KeepsTheDurationOfSlowDispatchesOnly) {
  LoopProbe probe;
  probe.Begin("slow, but nobody asks");
  probe.End();
  EXPECT_EQ(probe.SlowDurationTicks(1), 0u);
  probe.SetSlowTicks(0);
  uint64_t before = base::ReadTicks();
  probe.Begin("slow");
  probe.End();
  uint64_t at_most = base::ReadTicks() - before;
  EXPECT_GT(probe.SlowDurationTicks(2), 0u);
  EXPECT_LE(probe.SlowDurationTicks(2), at_most);
  EXPECT_EQ(probe.SlowDurationTicks(1), 0u);
}

TEST(LoopProbe, IsIdleAfterAReset) {
  LoopProbe probe;
  probe.Begin("left by its thread");
  probe.Begin("nested");
  probe.Reset();
  EXPECT_EQ(probe.Read().number, 0u);
  probe.Begin("next");
  EXPECT_EQ(probe.Read().number, 2u);
  probe.End();
  EXPECT_EQ(probe.Read().number, 0u);
}

// A reader must never pair one dispatch's number with another's tag.
TEST(LoopProbe, IsReadConsistentlyWhileTheLoopRuns) {
  LoopProbe probe;
  constexpr uint64_t kTags = 4096;
  static char tags[kTags];  // the tag of dispatch n is the address of tags[n % kTags]
  std::atomic<bool> is_enough{false};
  std::thread loop([&] {
    for (uint64_t n = 1; !is_enough.load(); ++n) {
      probe.Begin(&tags[n % kTags]);
      probe.End();
    }
  });
  for (int seen = 0; seen < 20'000;) {
    LoopProbe::Dispatch dispatch = probe.Read();
    if (dispatch.number == 0) continue;
    ++seen;
    EXPECT_EQ(dispatch.tag, &tags[dispatch.number % kTags]);
  }
  is_enough = true;
  loop.join();
}

}  // namespace
}  // namespace lagwatch::watchdog
