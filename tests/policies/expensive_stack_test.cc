// SPDX-License-Identifier: Apache-2.0
#include "policies/expensive_stack.h"

#include <gtest/gtest.h>

#include <vector>

namespace lagwatch::policies {
namespace {

size_t Pick(const std::vector<uint64_t>& innermost_functions) {
  return PickExpensiveStack(innermost_functions);
}

TEST(PickExpensiveStack, TakesTheNewestSampleOfTheFunctionSeenMostOften) {
  EXPECT_EQ(Pick({7, 7, 7, 8, 8, 9}), 2u);
  EXPECT_EQ(Pick({7, 8, 7, 9, 8, 7, 9}), 5u);
}

TEST(PickExpensiveStack, OfEqualsTakesTheOneSeenLast) {
  EXPECT_EQ(Pick({7, 7, 8, 8}), 3u);
  EXPECT_EQ(Pick({8, 7, 7, 8}), 3u);
  EXPECT_EQ(Pick({8, 8, 7, 7, 9}), 3u);
}

TEST(PickExpensiveStack, TakesTheNewestWhenAllDiffer) { EXPECT_EQ(Pick({7, 8, 9}), 2u); }

TEST(PickExpensiveStack, TakesTheNewestWhenAllAreTheSame) { EXPECT_EQ(Pick({7, 7, 7}), 2u); }

TEST(PickExpensiveStack, TakesTheOnlyOne) { EXPECT_EQ(Pick({7}), 0u); }

}  // namespace
}  // namespace lagwatch::policies
