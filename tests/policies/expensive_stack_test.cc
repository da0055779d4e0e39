// SPDX-License-Identifier: Apache-2.0
#include "policies/expensive_stack.h"

#include <gtest/gtest.h>

#include <numeric>
#include <string>
#include <vector>

namespace lagwatch::policies {
namespace {

size_t PickLeaf(const std::vector<uint64_t>& innermost_functions) {
  return PickExpensiveLeaf(innermost_functions);
}

// Each letter is a function, the first the outermost.
size_t PickPath(const std::vector<std::string>& stacks) {
  std::vector<size_t> samples(stacks.size());
  std::iota(samples.begin(), samples.end(), size_t{0});
  std::vector<uint64_t> innermost;
  for (const std::string& stack : stacks) innermost.push_back(static_cast<uint64_t>(stack.back()));
  return PickExpensivePath(samples, innermost, [&](size_t sample, size_t depth) -> uint64_t {
    return depth < stacks[sample].size() ? static_cast<uint64_t>(stacks[sample][depth]) : 0;
  });
}

TEST(PickExpensiveLeaf, TakesTheNewestSampleOfTheFunctionSeenMostOften) {
  EXPECT_EQ(PickLeaf({7, 7, 7, 8, 8, 9}), 2u);
  EXPECT_EQ(PickLeaf({7, 8, 7, 9, 8, 7, 9}), 5u);
}

TEST(PickExpensiveLeaf, OfEqualsTakesTheOneSeenLast) {
  EXPECT_EQ(PickLeaf({7, 7, 8, 8}), 3u);
  EXPECT_EQ(PickLeaf({8, 7, 7, 8}), 3u);
  EXPECT_EQ(PickLeaf({8, 8, 7, 7, 9}), 3u);
}

TEST(PickExpensiveLeaf, TakesTheNewestWhenAllDiffer) { EXPECT_EQ(PickLeaf({7, 8, 9}), 2u); }

TEST(PickExpensiveLeaf, TakesTheNewestWhenAllAreTheSame) { EXPECT_EQ(PickLeaf({7, 7, 7}), 2u); }

TEST(PickExpensiveLeaf, TakesTheOnlyOne) { EXPECT_EQ(PickLeaf({7}), 0u); }

TEST(PickExpensivePath, BlamesTheCallerThatTookMostOfTheTimeInAFunctionThatManyCall) {
  EXPECT_EQ(PickPath({"mAs", "mAs", "mAs", "mBs"}), 2u);
  EXPECT_EQ(PickPath({"mAs", "mBs", "mAs", "mAs", "mBt"}), 3u);
  EXPECT_EQ(PickLeaf({'s', 's', 's', 's'}), 3u);  // all are equally frequent
}

TEST(PickExpensivePath, TakesTheHeaviestBranchAtEachCall) {
  EXPECT_EQ(PickPath({"mAx", "mAy", "mAy", "mBz", "mBz"}), 2u);
  EXPECT_EQ(PickPath({"mAx", "mA", "mA", "mAx", "mA", "mAx", "mAx", "mA", "mA"}), 8u);  // its own work
}

TEST(PickExpensivePath, OfEqualsTakesTheOneSeenLast) {
  EXPECT_EQ(PickPath({"mA", "mB", "mC"}), 2u);
  EXPECT_EQ(PickPath({"mA", "mB", "mB", "mA"}), 3u);
  EXPECT_EQ(PickPath({"m", "m"}), 1u);
  EXPECT_EQ(PickPath({"m"}), 0u);
}

TEST(PickExpensivePath, TakesTheLeafWhereStacksDoNotBeginAtTheSamePlace) {
  EXPECT_EQ(PickPath({"aps", "bps", "cqt", "dqt", "eqs", "frt"}), 5u);
  EXPECT_EQ(PickPath({"aps", "bps", "cps", "dqt"}), 2u);
  EXPECT_EQ(PickPath({"aps", "aps", "bqs", "cqs"}), 1u);  // half of them do
}

}  // namespace
}  // namespace lagwatch::policies
