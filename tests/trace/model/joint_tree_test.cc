// SPDX-License-Identifier: Apache-2.0
#include "trace/model/joint_tree.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "tests/trace/model/trace_builder.h"

namespace lagwatch::trace {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using testing::kMs;
using testing::TraceBuilder;

// "  read part 3 x 40 ms"; without a number for functions of samples.
std::vector<std::string> Lines(const Trace& trace, const CallTree& tree) {
  std::vector<std::string> lines;
  for (const CallNode& node : tree)
    lines.push_back(std::string(node.depth, ' ') + trace.frames[node.frame].name +
                    (node.count == 0 ? "" : " " + std::to_string(node.count) + " x") + " " +
                    std::to_string(node.total_ns / kMs) + " ms");
  return lines;
}

class JointTree : public ::testing::Test {
 protected:
  void Call(const std::string& name, int64_t begin_ms, int64_t end_ms) {
    builder_.Call(begin_ms, name, true);
    builder_.Call(end_ms, name, false);
    std::ranges::stable_sort(builder_.trace.threads[0].calls, {}, &CallEvent::time_ns);
  }
  // A look each 10 ms.
  void Samples(int64_t begin_ms, int64_t end_ms, const std::string& stack) {
    for (int64_t at = begin_ms; at <= end_ms; at += 10) builder_.Sample(at, stack);
  }
  std::vector<std::string> Build(int64_t begin_ms, int64_t end_ms, size_t max_stem = 1) {
    return Lines(builder_.trace, BuildJointTree(builder_.trace, 0, begin_ms * kMs, end_ms * kMs, max_stem));
  }

  TraceBuilder builder_;
};

TEST_F(JointTree, ANamedPartHasTheFunctionsThatSamplesSawInIt) {
  Call("load", 100, 400);
  Samples(100, 290, "main;loop;Load;Read;Copy");
  Samples(300, 400, "main;loop;Load;Parse");
  EXPECT_THAT(Build(100, 400), ElementsAre("load 1 x 300 ms", " loop 300 ms", "  Load 300 ms",
                                           "   Read 200 ms", "    Copy 200 ms", "   Parse 100 ms"));
}

TEST_F(JointTree, BelowARecordedFunctionAreTheOnesThatItCalled) {
  Call("Load", 100, 300);
  Samples(100, 190, "main;loop;Load;Read");
  Samples(200, 300, "main;loop;Load;Parse");
  EXPECT_THAT(Build(100, 300), ElementsAre("Load 1 x 200 ms", " Read 100 ms", " Parse 100 ms"));
}

TEST_F(JointTree, PartsAndFunctionsBesideThemShareTheTime) {
  Call("save", 200, 300);
  Samples(100, 190, "main;loop;Layout");
  Samples(200, 290, "main;loop;Save;Write");
  Samples(300, 400, "main;loop;Layout");
  EXPECT_THAT(Build(100, 400), ElementsAre("save 1 x 100 ms", " Save 100 ms", "  Write 100 ms", "loop 200 ms",
                                           " Layout 200 ms"));
}

TEST_F(JointTree, WithoutSamplesItHasTheCallsWithTheirNumbers) {
  Call("load", 100, 160);
  Call("read", 110, 120);
  Call("read", 130, 150);
  EXPECT_THAT(Build(100, 400), ElementsAre("load 1 x 60 ms", " read 2 x 30 ms"));
}

TEST_F(JointTree, CallsThatAreUnderWayAtTheEdgesCountInside) {
  Call("load", 0, 500);
  EXPECT_THAT(Build(100, 400), ElementsAre("load 1 x 300 ms"));
}

TEST_F(JointTree, CallsOfTheSameFunctionAreOneNode) {
  builder_.Call(0, "load", true);
  for (int64_t at = 0; at < 200; at += 2) {
    for (const char* name : {"read", "copy"}) builder_.Call(at, name, true);
    for (const char* name : {"copy", "read"}) builder_.Call(at + 1, name, false);
  }
  EXPECT_THAT(Build(0, 200), ElementsAre("load 1 x 200 ms", " read 100 x 100 ms", "  copy 100 x 100 ms"));
}

TEST_F(JointTree, WhatAnExceptionLeftEndsWithItsCaller) {
  for (const char* name : {"load", "read", "copy"}) builder_.Call(name[0] == 'l' ? 0 : 1, name, true);
  builder_.Call(5, "load", false);
  builder_.Call(6, "save", true);
  builder_.Call(7, "save", false);
  EXPECT_THAT(Build(0, 10),
              ElementsAre("load 1 x 5 ms", " read 1 x 4 ms", "  copy 1 x 4 ms", "save 1 x 1 ms"));
}

TEST_F(JointTree, ExitsWithoutEntersAreIgnored) {
  builder_.Call(1, "lost", false);
  builder_.Call(2, "load", true);
  builder_.Call(3, "lost", false);
  builder_.Call(4, "load", false);
  EXPECT_THAT(Build(0, 10), ElementsAre("load 1 x 2 ms"));
}

TEST_F(JointTree, WithoutAnythingItIsEmpty) { EXPECT_THAT(Build(100, 400), IsEmpty()); }

}  // namespace
}  // namespace lagwatch::trace
