// SPDX-License-Identifier: Apache-2.0
#include "policies/loop_choice.h"

#include <gtest/gtest.h>

namespace lagwatch::policies {
namespace {

constexpr int64_t kMs = 1'000'000;

TEST(WaitHistory, IsALoopOnceTheThreadHasReturnedToItsWait) {
  EXPECT_FALSE((WaitHistory{.waits = 2, .waited_ns = 100 * kMs, .worked_ns = 0}).IsLoop(false));
  EXPECT_TRUE((WaitHistory{.waits = 3, .waited_ns = 100 * kMs, .worked_ns = 50 * kMs}).IsLoop(false));
}

TEST(WaitHistory, IsNoLoopOfAThreadThatMostlyWorks) {
  EXPECT_FALSE((WaitHistory{.waits = 10, .waited_ns = 100 * kMs, .worked_ns = 5000 * kMs}).IsLoop(false));
  EXPECT_TRUE((WaitHistory{.waits = 1000, .waited_ns = 100 * kMs, .worked_ns = 5000 * kMs}).IsLoop(false));
}

TEST(MainThreadRole, LeavesLoopsToOthersAsSoonAsItIsSeenToBeBlocked) {
  MainThreadRole role;
  EXPECT_FALSE(role.LeavesLoopsToOthers({.cpu_ns = 7 * kMs}, 1 * kMs));
  EXPECT_TRUE(role.LeavesLoopsToOthers({.cpu_ns = 7 * kMs}, 21 * kMs));
  MainThreadRole ended;
  EXPECT_TRUE(
      ended.LeavesLoopsToOthers({.dispatches = 3, .is_in_dispatch = true, .has_ended = true}, 1 * kMs));
}

TEST(WaitHistory, IsALoopAtTheSecondWaitOnceTheMainThreadHasEnded) {
  EXPECT_FALSE(WaitHistory{}.IsLoop(true));
  EXPECT_TRUE((WaitHistory{.waits = 1, .waited_ns = 20 * kMs, .worked_ns = 100 * kMs}).IsLoop(true));
}

TEST(MainThreadRole, HasASecondToComeToItsLoopWhileItWorks) {
  MainThreadRole role;
  for (int64_t now_ms = 1; now_ms <= 1000; now_ms += 20)
    EXPECT_FALSE(role.LeavesLoopsToOthers({.cpu_ns = now_ms * kMs}, now_ms * kMs));
  EXPECT_TRUE(role.LeavesLoopsToOthers({.cpu_ns = 1020 * kMs}, 1020 * kMs));
}

TEST(MainThreadRole, IsALoopHoweverLongItIsIdleOrWorks) {
  MainThreadRole idle;
  MainThreadRole works;
  for (int64_t now_ns = kMs; now_ns < 60'000 * kMs; now_ns += 500 * kMs) {
    EXPECT_FALSE(idle.LeavesLoopsToOthers({.dispatches = 2}, now_ns));
    EXPECT_FALSE(
        works.LeavesLoopsToOthers({.dispatches = 2, .is_in_dispatch = true, .cpu_ns = now_ns}, now_ns));
  }
}

TEST(MainThreadRole, MayHaveWaitedAtTheStartBeforeItIsBlocked) {
  MainThreadRole role;
  const MainThreadFacts facts{.dispatches = 3, .is_in_dispatch = true};
  EXPECT_FALSE(role.LeavesLoopsToOthers(facts, 1 * kMs));
  EXPECT_FALSE(role.LeavesLoopsToOthers(facts, 500 * kMs));
  EXPECT_TRUE(role.LeavesLoopsToOthers(facts, 1100 * kMs));
}

TEST(MainThreadRole, IsLookedAtLessOftenOnceItRunsALoop) {
  MainThreadRole role;
  int64_t now_ns = kMs;
  for (uint64_t turn = 2; turn < 30; ++turn, now_ns = role.next_look_ns())
    EXPECT_FALSE(role.LeavesLoopsToOthers({.dispatches = turn}, now_ns));
  EXPECT_GE(role.next_look_ns() - now_ns, 0);
  role.LeavesLoopsToOthers({.dispatches = 30}, now_ns);
  EXPECT_GE(role.next_look_ns() - now_ns, 5000 * kMs);
}

}  // namespace
}  // namespace lagwatch::policies
