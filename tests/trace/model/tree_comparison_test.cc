// SPDX-License-Identifier: Apache-2.0
#include "trace/model/tree_comparison.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "trace/model/functions.h"

namespace lagwatch::trace {
namespace {

// A recording of one thread that calls, in this order: "+name" enters, "-" leaves; 10 ns between events.
// Functions are at addresses that `shift` moves.
Trace TraceOf(const std::vector<std::string>& events, uint64_t shift) {
  Trace trace;
  trace.modules.push_back({"/opt/v" + std::to_string(shift) + "/editor", "", 0});
  Thread& thread = trace.threads.emplace_back();
  thread.tid = 1;
  std::vector<uint32_t> open;
  for (const std::string& event : events) {
    trace.end_ns += 10;
    if (event != "-") {
      const std::string name = event.substr(1);
      open.push_back(static_cast<uint32_t>(trace.frames.size()));
      NamedFrame frame({0, shift + trace.frames.size(), shift + trace.frames.size()}, name);
      frame.id = StableFunctionId(trace.modules[0].path, name);
      trace.frames.push_back(frame);
    }
    thread.calls.push_back({trace.end_ns, open.back(), event != "-"});
    if (event == "-") open.pop_back();
  }
  trace.end_ns += 10;
  return trace;
}

TEST(StableFunctionId, IsThatOfTheModulesNameAndTheSignature) {
  EXPECT_EQ(StableFunctionId("/a/libx.so.1.2", "f(int)"), StableFunctionId("/b/libx.so.2", "f(int)"));
  EXPECT_NE(StableFunctionId("/a/libx.so.1", "f(int)"), StableFunctionId("/a/libx.so.1", "f(long)"));
  EXPECT_NE(StableFunctionId("/a/libx.so.1", "f(int)"), StableFunctionId("/a/liby.so.1", "f(int)"));
  // It may be stored, so it never changes.
  EXPECT_EQ(StableFunctionId("editor", "main"), 0x53d661f3c77de43aU);
}

TEST(CompareCallTrees, FindsFunctionsOfBothBuilds) {
  const Trace before = TraceOf({"+main", "+Load(int)", "-", "+Load(int)", "-", "+Gone()", "-", "-"}, 0x100);
  const Trace after = TraceOf({"+main", "+Load(int)", "+New()", "-", "-", "-"}, 0x7000);
  const auto nodes = CompareCallTrees(before, after);
  ASSERT_EQ(nodes.size(), 4U);
  EXPECT_EQ(nodes[0].name, "main");
  EXPECT_EQ(nodes[0].before.calls, 1U);
  EXPECT_EQ(nodes[0].before.total_ns, 70);
  EXPECT_EQ(nodes[0].after.total_ns, 50);
  EXPECT_EQ(nodes[1].name, "Load(int)");
  EXPECT_EQ(nodes[1].depth, 1U);
  EXPECT_EQ(nodes[1].before.calls, 2U);
  EXPECT_EQ(nodes[1].after.calls, 1U);
  EXPECT_EQ(nodes[1].after.total_ns, 30);
  EXPECT_EQ(nodes[2].name, "New()");
  EXPECT_EQ(nodes[2].depth, 2U);
  EXPECT_EQ(nodes[2].before.calls, 0U);
  EXPECT_EQ(nodes[3].name, "Gone()");
  EXPECT_EQ(nodes[3].after.calls, 0U);
}

}  // namespace
}  // namespace lagwatch::trace
