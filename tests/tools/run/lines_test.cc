// SPDX-License-Identifier: Apache-2.0
// Lines and inlined calls in what the commands show of this machine's reports and traces.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "tests/collector/symbols/addr2line_oracle.h"
#include "tests/tools/run/run_testing.h"

namespace lagwatch::tools {
namespace {

using ::testing::ContainsRegex;
using testing::FramesByAddr2line;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr char kProgram[] = LAGWATCH_INLINING;
constexpr char kSource[] = "inlining_program.cc";

class LinesTest : public RunTest {
 protected:
  // The first report about `program`; a machine that is busy makes it longer, and then there are more.
  std::string IdOf(const std::string& program) {
    Process process(Watched({program}));
    EXPECT_EQ(process.Wait(), 0) << process.Errors();
    const json reports = Ask({"reports"});
    EXPECT_FALSE(reports.empty());
    return reports.empty() ? "" : reports.back()["id"].get<std::string>();
  }

  std::string OutputOf(std::vector<std::string> command) const {
    command.insert(command.begin(), LAGWATCH_PROGRAM);
    Process process(command);
    EXPECT_EQ(process.Wait(), 0) << process.Errors();
    return process.Output();
  }

  // The frames of one place, innermost first, are as addr2line has them of the same place.
  static void ExpectAsByAddr2line(const json& stack, const char* function) {
    size_t last = 0;
    while (last < stack.size() && stack[last]["function"] != function) ++last;
    ASSERT_LT(last, stack.size()) << stack.dump();
    const uint64_t offsets[] = {std::stoull(stack[last]["offset"].get<std::string>(), nullptr, 16)};
    const auto expected = FramesByAddr2line(kProgram, offsets).front();
    ASSERT_GE(expected.size(), 2u);
    ASSERT_GE(last + 1, expected.size()) << stack.dump();
    for (size_t i = 0; i < expected.size(); ++i) {
      const json& frame = stack[last + 1 - expected.size() + i];
      EXPECT_EQ(frame["line"], expected[i].line) << frame.dump();
      EXPECT_THAT(frame["file"].get<std::string>(), HasSubstr(kSource));
      EXPECT_EQ(frame["inlined"], expected[i].is_inlined) << frame.dump();
    }
  }
};

TEST_F(LinesTest, AReportHasLinesAndInlinedCalls) {
  const std::string id = IdOf(kProgram);
  ExpectAsByAddr2line(Ask({"report", id})["expensive_stack"], "shop::Cart::Save");
  const std::string text = OutputOf({"report", id, "--spool", spool_});
  EXPECT_THAT(text, ContainsRegex("HashOneRow  \\(inlining_program.cc:[0-9]+, inlined\\)"));
  EXPECT_THAT(text, ContainsRegex("shop::Cart::Save  \\(inlining_program.cc:[0-9]+\\)"));
  // Else the cause would depend on what a compiler chose to inline.
  for (const json& list : {Ask({"clusters"}), Ask({"reports"})})
    EXPECT_THAT(list.dump(), ContainsRegex("HashOneRow.*shop::Cart::Save"));
}

// The program as it is shipped: its debug information is in a file that it names.
TEST_F(LinesTest, AStrippedProgramIsNamedByItsDebugFile) {
  const std::string shipped = directory_ / "shipped";
  const std::string debug = directory_ / "shipped.debug";
  std::filesystem::copy_file(std::string(kProgram) + ".linked", shipped);
  const std::string id = IdOf(shipped);
  EXPECT_THAT(OutputOf({"report", id, "--spool", spool_}), Not(HasSubstr(kSource)));
  std::filesystem::copy_file(std::string(kProgram) + ".debug",
                             directory_ / (std::filesystem::path(kProgram).filename().string() + ".debug"));
  ExpectAsByAddr2line(Ask({"report", id})["expensive_stack"], "shop::Cart::Save");
  EXPECT_THAT(Ask({"clusters"}).dump(), HasSubstr("shop::Cart::Save"));
}

TEST_F(LinesTest, AnotherBuildAtItsPlaceNamesNothing) {
  const std::string program = directory_ / "program";
  std::filesystem::copy_file(kProgram, program);
  const std::string id = IdOf(program);
  std::filesystem::remove(program);
  std::filesystem::copy_file(std::string(LAGWATCH_PROGRAM), program);
  const std::string text = OutputOf({"report", id, "--spool", spool_});
  EXPECT_THAT(text, ContainsRegex("program\\+0x"));
  EXPECT_THAT(text, Not(HasSubstr(kSource)));
}

TEST_F(LinesTest, ATraceHasLines) {
  const std::string trace = directory_ / "recorded.lwtrace";
  OutputOf({"trace", "record", "-o", trace, "--", kProgram});
  EXPECT_THAT(OutputOf({"trace", "show", trace}),
              ContainsRegex("shop::Cart::Save \\(inlining_program.cc:[0-9]+\\)"));
  const json converted = json::parse(OutputOf({"trace", "convert", trace, "--to", "speedscope", "-o", "-"}));
  size_t found = 0;
  for (const json& frame : converted["shared"]["frames"]) {
    if (frame["name"] != "shop::Cart::Save") continue;
    ++found;
    EXPECT_THAT(frame.value("file", ""), HasSubstr(kSource));
    EXPECT_GT(frame.value("line", 0), 20);
  }
  EXPECT_GT(found, 0u);
}

}  // namespace
}  // namespace lagwatch::tools
