// SPDX-License-Identifier: Apache-2.0
// Python programs under `lagwatch run`: the reported frames against those that Python itself sees.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <string>
#include <vector>

#include "tests/stack/interpreters/pythons.h"
#include "tests/tools/run/script_testing.h"

namespace lagwatch::tools {
namespace {

class PythonTest : public ScriptTest, public ::testing::WithParamInterface<const char*> {};

TEST_P(PythonTest, ReportsNameTheLinesThatPythonItselfSees) {
  for (const std::string& python : testing::Pythons()) {
    SCOPED_TRACE(python);
    spool_ = directory_ / ("spool-" + std::to_string(std::hash<std::string>()(python)));
    ExpectTheStackThatItPrints({python, LAGWATCH_PYTHON_PROGRAM, GetParam()}, "[python]");
    for (const json& header : Ask({"reports"}))
      EXPECT_EQ(Ask({"report", header.at("id")}).at("expensive_stack").dump().find("_PyEval"),
                std::string::npos);
  }
}

// The thread that waits for the interpreter's lock is not to blame, but the line that keeps it.
class PythonLockTest : public ScriptTest {};

TEST_F(PythonLockTest, NamesWhoHoldsTheInterpretersLock) {
  for (const std::string& python : testing::Pythons()) {
    SCOPED_TRACE(python);
    spool_ = directory_ / ("spool-" + std::to_string(std::hash<std::string>()(python)));
    Process program(Watched({python, LAGWATCH_PYTHON_PROGRAM, "held"}));
    ASSERT_EQ(program.Wait(), 0) << program.Errors();
    std::vector<Frames> owners;
    for (const json& header : Ask({"reports"})) {
      const json report = Ask({"report", header.at("id")});
      for (const json& wait : report.value("waits", json::array())) {
        if (wait.at("kind") == "interpreter-lock")
          owners.push_back(ScriptFramesOf(wait.at("owner").at("stack"), "[python]"));
      }
    }
    EXPECT_TRUE(std::ranges::any_of(owners, [](const Frames& frames) {
      return !frames.empty() && frames[0].find("hold (") != std::string::npos;
    })) << json(owners).dump();
  }
}

INSTANTIATE_TEST_SUITE_P(Freezes, PythonTest,
                         ::testing::Values("sleep", "spin", "sort", "regex", "generator", "lock", "gil",
                                           "child", "comprehension", "größe"),
                         [](const auto& given) {
                           const std::string name = given.param;
                           return name == "größe" ? std::string("foreign_name") : name;
                         });

}  // namespace
}  // namespace lagwatch::tools
