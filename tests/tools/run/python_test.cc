// SPDX-License-Identifier: Apache-2.0
// Python programs under `lagwatch run`: the reported frames against those that Python itself sees.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <sstream>
#include <string>
#include <vector>

#include "tests/stack/interpreters/pythons.h"
#include "tests/tools/run/run_testing.h"

namespace lagwatch::tools {
namespace {

using Frames = std::vector<std::string>;

// "NAME (FILE):LINE" of the Python frames in a report's stack.
Frames PythonFramesOf(const json& stack) {
  Frames frames;
  for (const json& frame : stack) {
    if (frame.at("module") == "[python]")
      frames.push_back(frame.at("function").get<std::string>() + ":" + frame.value("line", json(0)).dump());
  }
  return frames;
}

class PythonTest : public RunTest, public ::testing::WithParamInterface<const char*> {};

TEST_P(PythonTest, ReportsNameTheLinesThatPythonItselfSees) {
  for (const std::string& python : testing::Pythons()) {
    SCOPED_TRACE(python);
    spool_ = directory_ / ("spool-" + std::to_string(std::hash<std::string>()(python)));
    Process program(Watched({python, LAGWATCH_PYTHON_PROGRAM, GetParam()}));
    ASSERT_EQ(program.Wait(), 0) << program.Errors();
    Frames expected;
    std::istringstream output(program.Output());
    for (std::string line; std::getline(output, line);) expected.push_back(line);
    ASSERT_GE(expected.size(), 3u);

    // On a busy machine there may be a hang before that one.
    std::vector<Frames> found;
    for (const json& header : Ask({"reports"})) {
      const json stack = Ask({"report", header.at("id")}).at("expensive_stack");
      for (const json& frame : stack)
        EXPECT_EQ(frame.at("function").get<std::string>().find("_PyEval"), std::string::npos) << frame;
      found.push_back(PythonFramesOf(stack));
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

// The thread that waits for the interpreter's lock is not to blame, but the line that keeps it.
class PythonLockTest : public RunTest {};

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
          owners.push_back(PythonFramesOf(wait.at("owner").at("stack")));
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
