// SPDX-License-Identifier: Apache-2.0
// Python programs under `lagwatch run`: the reported frames against those that Python itself sees.
#include <gtest/gtest.h>

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

    const json reports = Ask({"reports"});
    ASSERT_FALSE(reports.empty());
    const json report = Ask({"report", reports.back().at("id")});  // the first one
    const Frames frames = PythonFramesOf(report.at("expensive_stack"));
    ASSERT_GE(frames.size(), expected.size());
    // The freezing line may have called further functions.
    EXPECT_EQ(Frames(frames.end() - static_cast<ptrdiff_t>(expected.size()), frames.end()), expected);
    for (const json& frame : report.at("expensive_stack"))
      EXPECT_EQ(frame.at("function").get<std::string>().find("_PyEval"), std::string::npos) << frame;
  }
}

INSTANTIATE_TEST_SUITE_P(Freezes, PythonTest,
                         ::testing::Values("sleep", "spin", "sort", "regex", "generator", "lock", "gil",
                                           "comprehension", "größe"),
                         [](const auto& given) {
                           const std::string name = given.param;
                           return name == "größe" ? std::string("foreign_name") : name;
                         });

}  // namespace
}  // namespace lagwatch::tools
