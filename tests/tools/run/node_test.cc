// SPDX-License-Identifier: Apache-2.0
// Node programs under `lagwatch run`: the reported frames against those that V8 itself sees.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <sstream>
#include <string>
#include <vector>

#include "tests/stack/interpreters/nodes.h"
#include "tests/tools/run/run_testing.h"

namespace lagwatch::tools {
namespace {

using Frames = std::vector<std::string>;

// "NAME (FILE):LINE" of the JavaScript frames in a report's stack.
Frames ScriptFramesOf(const json& stack) {
  Frames frames;
  for (const json& frame : stack) {
    if (frame.at("module") == "[javascript]") {
      // V8's built-in functions have no lines.
      const json line = frame.value("line", json(0));
      frames.push_back(frame.at("function").get<std::string>() + ":" + (line.is_null() ? "0" : line.dump()));
    }
  }
  return frames;
}

class NodeTest : public RunTest, public ::testing::WithParamInterface<const char*> {};

TEST_P(NodeTest, ReportsNameTheLinesThatV8ItselfSees) {
  for (const std::string& node : testing::Nodes()) {
    SCOPED_TRACE(node);
    spool_ = directory_ / ("spool-" + std::to_string(std::hash<std::string>()(node)));
    Process program(Watched({node, LAGWATCH_NODE_PROGRAM, GetParam()}));
    ASSERT_EQ(program.Wait(), 0) << program.Errors();
    Frames expected;
    std::istringstream output(program.Output());
    for (std::string line; std::getline(output, line);) expected.push_back(line);
    ASSERT_GE(expected.size(), 3u);

    // On a busy machine there may be a hang before that one.
    std::vector<Frames> found;
    for (const json& header : Ask({"reports"})) {
      const json stack = Ask({"report", header.at("id")}).at("expensive_stack");
      const Frames scripts = ScriptFramesOf(stack);
      found.push_back(scripts);
      // Frames of V8's own code are gone where scripts are.
      for (const json& frame : stack)
        EXPECT_EQ(frame.value("function", "").find("Builtins_"), std::string::npos) << frame;
    }
    // The freezing line may have called further functions.
    const auto ends_as_expected = [&](const Frames& frames) {
      return frames.size() >= expected.size() &&
             std::equal(expected.rbegin(), expected.rend(), frames.rbegin());
    };
    EXPECT_TRUE(std::ranges::any_of(found, ends_as_expected))
        << "expected " << json(expected).dump() << "\nfound " << json(found).dump();
  }
}

INSTANTIATE_TEST_SUITE_P(Freezes, NodeTest,
                         ::testing::Values("loop", "compiled", "json", "regex", "execSync", "wait", "fifo",
                                           "größe"),
                         [](const auto& given) {
                           const std::string name = given.param;
                           return name == "größe" ? std::string("foreign_name") : name;
                         });

}  // namespace
}  // namespace lagwatch::tools
