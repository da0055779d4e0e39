// SPDX-License-Identifier: Apache-2.0
// The names that a Java program gives to parts of its work.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

#include "tests/jvm/agent_testing.h"
#include "tests/testing/process.h"

namespace lagwatch {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;
using testing::Process;

using JvmParts = testing::JvmAgentTest;

TEST_F(JvmParts, AreReportedByTheirNames) {
  std::vector<std::string> command = Agent();
  command.insert(command.end(), {"-cp", LAGWATCH_JVM_LIBRARY, LAGWATCH_JVM_PARTS, directory_ / "parts.jfr"});
  Process program(command);
  EXPECT_EQ(program.Wait(), 0) << program.Errors();
  EXPECT_EQ(program.Output(), "true true\nquick\nquick\nquick\nimport\ntrue\n");
  std::set<std::string> found;
  for (const json& line : Ask({"reports"})) {
    const json report = Ask({"report", line["id"]});
    if (FramesOf(report).find("PartsProgram.importOrders") == std::string::npos) continue;
    found.insert(report["kind"].get<std::string>() + " " + report["tag"].get<std::string>());
    EXPECT_EQ(report["facts"].value("app.tabs", ""), "3");
  }
  EXPECT_EQ(found,
            (std::set<std::string>{"lag job", "scope face \xF0\x9F\x98\x80", "scope import", "scope other"}));
}

TEST_F(JvmParts, DoNothingWithoutTheAgent) {
  Process program({LAGWATCH_JAVA, "-cp", LAGWATCH_JVM_LIBRARY, LAGWATCH_JVM_PARTS, directory_ / "parts.jfr"});
  EXPECT_EQ(program.Wait(), 0) << program.Errors();
  EXPECT_EQ(program.Output(), "false false\nquick\nquick\nquick\nimport\ntrue\n");
}

}  // namespace
}  // namespace lagwatch
