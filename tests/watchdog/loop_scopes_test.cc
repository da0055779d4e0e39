// SPDX-License-Identifier: Apache-2.0
#include "watchdog/loops/loop_scopes.h"

#include <gtest/gtest.h>

#include <thread>

namespace lagwatch::watchdog {
namespace {

TEST(LoopScopes, AreNested) {
  LoopScopes scopes;
  EXPECT_EQ(scopes.Read(0).number, 0u);
  scopes.Begin("outer", 700);
  scopes.Begin("inner", 30);
  LoopScopes::Scope outer = scopes.Read(0);
  LoopScopes::Scope inner = scopes.Read(1);
  EXPECT_STREQ(outer.name, "outer");
  EXPECT_EQ(outer.deadline_ns, 700);
  EXPECT_STREQ(inner.name, "inner");
  EXPECT_EQ(inner.deadline_ns, 30);
  EXPECT_GE(inner.begin_ticks, outer.begin_ticks);
  scopes.End();
  EXPECT_EQ(scopes.Read(1).number, 0u);
  EXPECT_FALSE(scopes.IsStillIn(inner.number));
  EXPECT_TRUE(scopes.IsStillIn(outer.number));
  EXPECT_EQ(scopes.Read(0).begin_ticks, outer.begin_ticks);
  scopes.End();
  EXPECT_FALSE(scopes.IsStillIn(outer.number));
}

TEST(LoopScopes, HaveNumbersOfTheirOwn) {
  LoopScopes scopes;
  scopes.Begin("first", 30);
  uint64_t first = scopes.Read(0).number;
  scopes.End();
  scopes.Begin("second", 30);
  EXPECT_NE(scopes.Read(0).number, first);
  EXPECT_FALSE(scopes.IsStillIn(first));
}

TEST(LoopScopes, IgnoreAStrayEnd) {
  LoopScopes scopes;
  scopes.End();
  scopes.Begin("one", 30);
  EXPECT_NE(scopes.Read(0).number, 0u);
  scopes.End();
  EXPECT_EQ(scopes.Read(0).number, 0u);
}

TEST(LoopScopes, WatchTheOuterOnesOfTooMany) {
  LoopScopes scopes;
  for (size_t i = 0; i < LoopScopes::kMaxDepth + 3; ++i) scopes.Begin("deep", 30);
  uint64_t innermost = scopes.Read(LoopScopes::kMaxDepth - 1).number;
  for (int i = 0; i < 3; ++i) scopes.End();
  EXPECT_TRUE(scopes.IsStillIn(innermost));
  scopes.End();
  EXPECT_FALSE(scopes.IsStillIn(innermost));
  for (size_t i = 1; i < LoopScopes::kMaxDepth; ++i) scopes.End();
  EXPECT_EQ(scopes.Read(0).number, 0u);
}

TEST(LoopScopes, KnowTheShortestDeadlineSoFar) {
  LoopScopes scopes;
  EXPECT_EQ(scopes.shortest_deadline_ns(), INT64_MAX);
  scopes.Begin("a", 70);
  scopes.Begin("b", 30);
  scopes.Begin("c", 50);
  EXPECT_EQ(scopes.shortest_deadline_ns(), 30);
  scopes.Reset();
  EXPECT_EQ(scopes.shortest_deadline_ns(), INT64_MAX);
  EXPECT_EQ(scopes.Read(0).number, 0u);
}

// A reader must never pair one scope's number with another's words.
TEST(LoopScopes, AreReadConsistentlyWhileTheLoopRuns) {
  LoopScopes scopes;
  std::atomic<bool> is_enough{false};
  std::thread loop([&] {
    for (int64_t n = 1; !is_enough.load(); ++n) {
      scopes.Begin("n", n);  // the n-th scope
      scopes.End();
    }
  });
  for (int seen = 0; seen < 20'000;) {
    LoopScopes::Scope scope = scopes.Read(0);
    if (scope.number == 0) continue;
    ++seen;
    EXPECT_EQ(scope.deadline_ns, static_cast<int64_t>(scope.number));
  }
  is_enough = true;
  loop.join();
}

}  // namespace
}  // namespace lagwatch::watchdog
