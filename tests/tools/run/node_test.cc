// SPDX-License-Identifier: Apache-2.0
// Node programs under `lagwatch run`: the reported frames against those that V8 itself sees.
#include <gtest/gtest.h>

#include <csignal>
#include <functional>
#include <string>

#include "tests/stack/interpreters/nodes.h"
#include "tests/tools/run/script_testing.h"

namespace lagwatch::tools {
namespace {

class NodeTest : public ScriptTest, public ::testing::WithParamInterface<const char*> {};

TEST_P(NodeTest, ReportsNameTheLinesThatV8ItselfSees) {
  for (const std::string& node : testing::Nodes()) {
    SCOPED_TRACE(node);
    spool_ = directory_ / ("spool-" + std::to_string(std::hash<std::string>()(node)));
    ExpectTheStackThatItPrints({node, LAGWATCH_NODE_PROGRAM, GetParam()}, "[javascript]");
    // Frames of V8's own code are gone where scripts are.
    for (const json& header : Ask({"reports"}))
      EXPECT_EQ(Ask({"report", header.at("id")}).at("expensive_stack").dump().find("Builtins_"),
                std::string::npos);
  }
}

class IdleNodeTest : public ScriptTest {};

// Scripts that have ended leave words on the stack that look like frames.
TEST_F(IdleNodeTest, HasNoFramesOfScripts) {
  for (const std::string& node : testing::Nodes()) {
    SCOPED_TRACE(node);
    spool_ = directory_ / ("spool-" + std::to_string(std::hash<std::string>()(node)));
    Process program(Watched({node, LAGWATCH_NODE_PROGRAM, "idle"}));
    ASSERT_TRUE(testing::WaitUntil([&] { return program.Output() == "idle\n"; }));
    Process dump({LAGWATCH_PROGRAM, "dump", std::to_string(program.pid())});
    ASSERT_EQ(dump.Wait(), 0) << dump.Errors();
    json header;
    ASSERT_TRUE(testing::WaitUntil([&] {
      for (const json& report : Ask({"reports"})) {
        if (report.at("kind") == "dump") header = report;
      }
      return !header.is_null();
    }));
    program.Signal(SIGKILL);
    const json report = Ask({"report", header.at("id")});
    EXPECT_FALSE(report.at("facts").contains("unreadable_frames"));
    EXPECT_NE(report.at("expensive_stack").dump().find("epoll"), std::string::npos);
    EXPECT_EQ(report.dump().find("[javascript]"), std::string::npos) << report.at("expensive_stack").dump(1);
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
