// SPDX-License-Identifier: Apache-2.0
#include "policies/expensive_stack.h"

#include <gtest/gtest.h>

#include <numeric>
#include <string>
#include <vector>

namespace lagwatch::policies {
namespace {

// Each sample stands for 1 ns, or for `spent_ns`.
std::vector<WeighedSample> Weighed(const std::vector<uint64_t>& innermost_functions,
                                   const std::vector<int64_t>& spent_ns) {
  std::vector<WeighedSample> samples;
  for (size_t i = 0; i < innermost_functions.size(); ++i)
    samples.push_back({innermost_functions[i], spent_ns.empty() ? 1 : spent_ns[i]});
  return samples;
}

size_t PickLeaf(const std::vector<uint64_t>& innermost_functions, const std::vector<int64_t>& spent_ns = {}) {
  return PickExpensiveLeaf(Weighed(innermost_functions, spent_ns));
}

// Each letter is a function, the first the outermost.
size_t PickPath(const std::vector<std::string>& stacks, const std::vector<int64_t>& spent_ns = {}) {
  std::vector<size_t> samples(stacks.size());
  std::iota(samples.begin(), samples.end(), size_t{0});
  std::vector<uint64_t> innermost;
  for (const std::string& stack : stacks) innermost.push_back(static_cast<uint64_t>(stack.back()));
  return PickExpensivePath(
      samples, Weighed(innermost, spent_ns), [&](size_t sample, size_t depth) -> uint64_t {
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

TEST(PickExpensivePath, GoesByTimeAndNotByNumber) {
  EXPECT_EQ(PickPath({"mA", "mB", "mB"}, {168, 35, 40}), 0u);
  EXPECT_EQ(PickPath({"mAx", "mAy", "mB", "mAx"}, {10, 30, 35, 10}), 1u);
  EXPECT_EQ(PickPath({"aps", "bqt", "cqt"}, {1000, 400, 400}), 0u);
  EXPECT_EQ(PickLeaf({7, 8, 8}, {30, 10, 10}), 0u);
}

TEST(PickExpensivePath, SamplesWithoutTimeAreEquals) {
  EXPECT_EQ(PickPath({"mA", "mB"}, {0, 0}), 1u);
  EXPECT_EQ(PickPath({"a", "b", "c"}, {0, 0, 0}), 2u);
  EXPECT_EQ(PickLeaf({7, 8}, {0, 0}), 1u);
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
