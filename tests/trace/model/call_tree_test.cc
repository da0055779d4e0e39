// SPDX-License-Identifier: Apache-2.0
#include "trace/model/call_tree.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace lagwatch::trace {
namespace {

constexpr int64_t kMillisecond = 1'000'000;

CallNode Node(uint32_t frame, uint32_t depth, uint32_t count, int64_t total_ms) {
  return {.frame = frame, .depth = depth, .count = count, .total_ns = total_ms * kMillisecond};
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
    CallTree tree{Node(0, 0, 1, 1000)};
    for (uint32_t i = 1; i < 200; ++i) {
      const auto depth = 1 + static_cast<uint32_t>(random() % std::min(tree.back().depth + 1, 12U));
      auto parent = std::find_if(tree.rbegin(), tree.rend(),
                                 [&](const CallNode& node) { return node.depth == depth - 1; });
      tree.push_back({.frame = i,
                      .depth = depth,
                      .total_ns = parent->total_ns / static_cast<int64_t>(1 + random() % 4)});
    }
    const CallTree trimmed = TrimCallTree(tree);
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
