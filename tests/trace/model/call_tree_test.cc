// SPDX-License-Identifier: Apache-2.0
#include "trace/model/call_tree.h"

#include <gtest/gtest.h>

#include <random>

namespace lagwatch::trace {
namespace {

constexpr int64_t kMillisecond = 1'000'000;

CallEvent Enter(uint32_t frame, int64_t at_ms) { return {at_ms * kMillisecond, frame, true}; }
CallEvent Exit(uint32_t frame, int64_t at_ms) { return {at_ms * kMillisecond, frame, false}; }
CallNode Node(uint32_t frame, uint32_t depth, uint32_t count, int64_t total_ms) {
  return {.frame = frame, .depth = depth, .count = count, .total_ns = total_ms * kMillisecond};
}

TEST(BuildCallTree, NestsAndMergesRepeatedSiblings) {
  const std::vector<CallEvent> calls{Enter(1, 0), Enter(2, 1), Exit(2, 3), Enter(2, 4),
                                     Enter(3, 5), Exit(3, 6),  Exit(2, 7), Enter(4, 7),
                                     Exit(4, 8),  Enter(2, 8), Exit(2, 9), Exit(1, 10)};
  EXPECT_EQ(
      BuildCallTree(calls, 0, 10 * kMillisecond),
      (CallTree{Node(1, 0, 1, 10), Node(2, 1, 2, 5), Node(3, 2, 1, 1), Node(4, 1, 1, 1), Node(2, 1, 1, 1)}));
}

TEST(BuildCallTree, ChildrenOfMergedSiblingsMergeToo) {
  std::vector<CallEvent> calls{Enter(1, 0)};
  for (int i = 0; i < 100; ++i)
    for (const CallEvent& call : {Enter(2, 2 * i), Enter(3, 2 * i), Exit(3, 2 * i + 1), Exit(2, 2 * i + 1)})
      calls.push_back(call);
  EXPECT_EQ(BuildCallTree(calls, 0, 200 * kMillisecond),
            (CallTree{Node(1, 0, 1, 200), Node(2, 1, 100, 100), Node(3, 2, 100, 100)}));
}

TEST(BuildCallTree, WhatIsUnderWayAtTheEdgesCountsInside) {
  const std::vector<CallEvent> calls{Enter(1, 0), Enter(9, 0), Exit(9, 1), Enter(2, 2),
                                     Exit(2, 6),  Enter(3, 7), Exit(3, 20)};
  EXPECT_EQ(BuildCallTree(calls, 4 * kMillisecond, 10 * kMillisecond),
            (CallTree{Node(1, 0, 1, 6), Node(2, 1, 1, 2), Node(3, 1, 1, 3)}));
}

TEST(BuildCallTree, WhatAnExceptionLeftEndsWithItsCaller) {
  const std::vector<CallEvent> calls{Enter(1, 0), Enter(2, 1), Enter(3, 2),
                                     Exit(1, 5),  Enter(4, 6), Exit(4, 7)};
  EXPECT_EQ(BuildCallTree(calls, 0, 10 * kMillisecond),
            (CallTree{Node(1, 0, 1, 5), Node(2, 1, 1, 4), Node(3, 2, 1, 3), Node(4, 0, 1, 1)}));
}

TEST(BuildCallTree, ExitsWithoutEntersAreIgnored) {
  const std::vector<CallEvent> calls{Exit(7, 1), Enter(1, 2), Exit(8, 3), Exit(1, 4), Exit(9, 5)};
  EXPECT_EQ(BuildCallTree(calls, 0, 10 * kMillisecond), (CallTree{Node(1, 0, 1, 2)}));
  EXPECT_TRUE(BuildCallTree({}, 0, 1).empty());
}

TEST(TrimCallTree, LeavesFewNodesAlone) {
  const CallTree tree{Node(1, 0, 1, 1), Node(2, 1, 1, 0)};
  EXPECT_EQ(TrimCallTree(tree), tree);
}

TEST(TrimCallTree, ShortOnesGoFirstFromTheEnd) {
  CallTree tree{Node(0, 0, 1, 1000)};
  for (uint32_t i = 1; i <= 20; ++i) tree.push_back(Node(i, 1, 1, 4));
  for (uint32_t i = 21; i <= 35; ++i) tree.push_back(Node(i, 1, 1, 20));
  const CallTree trimmed = TrimCallTree(tree);
  ASSERT_EQ(trimmed.size(), 30U);
  EXPECT_EQ(trimmed[14].frame, 14U);
  EXPECT_EQ(trimmed[15].frame, 21U);
  EXPECT_EQ(trimmed[29].frame, 35U);
}

TEST(TrimCallTree, TheLongestStayWhenAllAreLong) {
  CallTree tree{Node(0, 0, 1, 100000)};
  for (uint32_t i = 1; i <= 100; ++i) tree.push_back(Node(i, 1, 1, 500 + i));
  const CallTree trimmed = TrimCallTree(tree);
  ASSERT_EQ(trimmed.size(), 30U);
  EXPECT_EQ(trimmed[1].frame, 72U);
  EXPECT_EQ(trimmed[29].frame, 100U);
}

TEST(TrimCallTree, KeepsEveryParentOfWhatItKeeps) {
  std::mt19937 random(1);
  for (int round = 0; round < 300; ++round) {
    std::vector<CallEvent> calls;
    std::vector<uint32_t> open;
    int64_t now_ms = 0;
    for (int i = 0; i < 400; ++i) {
      now_ms += static_cast<int64_t>(random() % (round % 2 == 0 ? 8 : 400));
      if (open.empty() || (random() % 2 == 0 && open.size() < 12)) {
        open.push_back(random() % 20);
        calls.push_back(Enter(open.back(), now_ms));
      } else {
        calls.push_back(Exit(open.back(), now_ms));
        open.pop_back();
      }
    }
    const CallTree trimmed = TrimCallTree(BuildCallTree(calls, 0, now_ms * kMillisecond));
    ASSERT_LE(trimmed.size(), 30U);
    for (size_t i = 0; i < trimmed.size(); ++i)
      ASSERT_LE(trimmed[i].depth, i == 0 ? 0 : trimmed[i - 1].depth + 1);
  }
}

TEST(HeavyPath, GoesToWhereTheTimeWasSpent) {
  const CallTree tree{Node(1, 0, 1, 1000), Node(2, 1, 1, 350), Node(3, 1, 1, 600),
                      Node(4, 2, 1, 580),  Node(5, 3, 9, 200), Node(6, 2, 1, 10)};
  EXPECT_EQ(HeavyPath(tree, 1000 * kMillisecond), (std::vector<uint32_t>{1, 3, 4}));
}

TEST(HeavyPath, IsTheDispatchItselfWhenManyShortCallsSumUp) {
  CallTree tree{Node(1, 0, 1, 1000)};
  for (uint32_t i = 2; i < 12; ++i) tree.push_back(Node(i, 1, 1, 100));
  EXPECT_EQ(HeavyPath(tree, 1000 * kMillisecond), (std::vector<uint32_t>{1}));
  EXPECT_TRUE(HeavyPath(tree, 10000 * kMillisecond).empty());
}

TEST(HeavyPath, RecursionCountsOnce) {
  const CallTree tree{Node(1, 0, 1, 100), Node(2, 1, 1, 99), Node(2, 2, 1, 98), Node(2, 3, 1, 97)};
  EXPECT_EQ(HeavyPath(tree, 100 * kMillisecond), (std::vector<uint32_t>{1, 2}));
}

}  // namespace
}  // namespace lagwatch::trace
