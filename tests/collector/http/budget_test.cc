// SPDX-License-Identifier: Apache-2.0
#include "collector/http/server/budget.h"

#include <gtest/gtest.h>

#include <memory>

namespace lagwatch::collector {
namespace {

TEST(Budget, IsSharedAndGivenBack) {
  Budget budget(10, 0);
  auto all = budget.TryTake("a", 10);
  ASSERT_TRUE(all);
  EXPECT_FALSE(budget.TryTake("b", 1));
  all.reset();
  EXPECT_EQ(budget.taken(), 0u);
  EXPECT_TRUE(budget.TryTake("b", 1));
}

TEST(Budget, LetsNoPeerHaveMoreThanItsPart) {
  Budget budget(10, 4);
  auto first = budget.TryTake("a", 3);
  EXPECT_FALSE(budget.TryTake("a", 2));
  auto second = budget.TryTake("a", 1);
  EXPECT_TRUE(second);
  EXPECT_TRUE(budget.TryTake("b", 4));
  EXPECT_FALSE(budget.TryTake("b", UINT64_MAX));
  first.reset();
  EXPECT_TRUE(budget.TryTake("a", 3));
}

TEST(Budget, ResizesAShareWithinItsLimits) {
  Budget budget(10, 6);
  auto share = budget.TryTake("a", 2);
  EXPECT_FALSE(share->TryResize(7));
  EXPECT_EQ(share->amount(), 2u);
  EXPECT_TRUE(share->TryResize(6));
  auto other = budget.TryTake("b", 4);
  EXPECT_FALSE(other->TryResize(5));
  EXPECT_TRUE(share->TryResize(1));
  EXPECT_EQ(budget.taken(), 5u);
  Budget::Share moved = std::move(*share);
  share.reset();
  EXPECT_EQ(budget.taken(), 5u);
  moved = std::move(*other);
  EXPECT_EQ(budget.taken(), 4u);
  EXPECT_TRUE(Budget::Share().TryResize(UINT64_MAX));
}

TEST(Budget, AShareMayOutliveIt) {
  uint64_t told = 0;
  auto budget = std::make_unique<Budget>(100, 0, [&](uint64_t taken) { told = taken; });
  auto share = budget->TryTake("a", 60);
  ASSERT_TRUE(share.has_value());
  EXPECT_EQ(told, 60u);
  budget.reset();
  share.reset();
  EXPECT_EQ(told, 60u);  // no watcher is left
}

}  // namespace
}  // namespace lagwatch::collector
