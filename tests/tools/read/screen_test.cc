// SPDX-License-Identifier: Apache-2.0
// Colours, pagers and widths, on real terminals, and in a pipe none of these.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <regex>
#include <sstream>
#include <string>
#include <vector>

#include "tests/tools/run/run_testing.h"
#include "tests/tools/trace/terminal_process.h"

namespace lagwatch::tools {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using Words = std::vector<std::string>;

std::string WithoutColours(const std::string& text) {
  return std::regex_replace(text, std::regex("\x1b\\[[0-9;]*m"), "");
}

// Of the guilty line, which terminals show.
std::string WithoutMark(const std::string& text) {
  return std::regex_replace(text, std::regex("\n> "), "\n  ");
}

class ScreenTest : public RunTest {
 protected:
  ScreenTest() {
    for (const char* name : {"NO_COLOR", "PAGER", "LAGWATCH_PAGER", "LESS", "LAGWATCH_ENDPOINT"})
      unsetenv(name);
  }
  void SetUp() override {
    Process program(Watched({LAGWATCH_WAIT_LOOP, "poll", "500"}));
    ASSERT_EQ(program.Wait(), 0) << program.Errors();
    const json reports = Ask({"reports"});
    ASSERT_FALSE(reports.empty());
    report_ = {"report", reports[0].at("id"), "--spool", spool_};
  }
  // Into a file.
  static std::string Piped(Words words) {
    words.insert(words.begin(), LAGWATCH_PROGRAM);
    Process process(words, {"TERM=xterm"});
    EXPECT_EQ(process.Wait(), 0) << process.Errors();
    return process.Output();
  }
  // On a terminal of that size, without carriage returns.
  std::string Shown(Words words, Words environment = {}) const {
    const std::string size = "stty rows " + std::to_string(rows_) + " cols " + std::to_string(columns_);
    words.insert(words.begin(), {"sh", "-c", size + "; exec \"$@\"", "sh", LAGWATCH_PROGRAM});
    environment.insert(environment.begin(), "TERM=xterm");
    testing::TerminalProcess process(words, environment);
    EXPECT_EQ(process.Wait(), 0);
    std::string text = process.Written();
    std::erase(text, '\r');
    return text;
  }
  static Words With(Words words, const std::string& more) {
    words.push_back(more);
    return words;
  }

  int rows_ = 1000;
  int columns_ = 200;
  Words report_;
};

TEST_F(ScreenTest, ColoursAreForTerminals) {
  const std::string plain = Piped(report_);
  EXPECT_THAT(plain, Not(HasSubstr("\x1b")));
  const std::string shown = Shown(report_);
  EXPECT_THAT(shown, HasSubstr("\x1b[1mMost expensive stack\x1b[0m\n"));
  const Words whole = With(report_, "--all-frames");
  EXPECT_EQ(WithoutMark(WithoutColours(Shown(whole))), plain);
  EXPECT_EQ(WithoutMark(Shown(whole, {"NO_COLOR=1"})), plain);
  EXPECT_EQ(WithoutMark(Shown(whole, {"TERM=dumb"})), plain);
  EXPECT_EQ(WithoutMark(Shown(With(whole, "--color=never"))), plain);
  const std::string always = Piped(With(report_, "--color=always"));
  EXPECT_NE(always, plain);
  EXPECT_EQ(WithoutColours(always), plain);
  EXPECT_THAT(Shown({"reports", "--spool", spool_}), HasSubstr("\x1b[1m"));
  EXPECT_THAT(Shown({"reports", "--spool", spool_, "--json"}), Not(HasSubstr("\x1b")));
}

TEST_F(ScreenTest, TheGuiltyLineIsBoldAndFramesOfTheSystemAreFolded) {
  const std::string shown = Shown(report_);
  const size_t mark = shown.find("\x1b[1m> ");
  ASSERT_NE(mark, std::string::npos) << shown;
  const json report = Ask({"report", report_[1]});
  const auto& stack = report.at("expensive_stack");
  const auto own = std::ranges::find_if(stack, [](const json& frame) { return frame.at("own").get<bool>(); });
  ASSERT_NE(own, stack.end());
  EXPECT_EQ(shown.find(own->at("function").get<std::string>(), mark), mark + 6);
  EXPECT_THAT(shown, HasSubstr(" frames of libraries and the system)"));
  EXPECT_THAT(Piped(report_), Not(HasSubstr(" frames of libraries and the system)")));
  EXPECT_THAT(Piped(report_), HasSubstr("__libc_start_call_main"));
}

TEST_F(ScreenTest, APagerShowsWhatIsLongerThanTheScreen) {
  const std::string mark = "LAGWATCH_PAGER=sed s/^/PAGED:/";
  const auto is_paged = [](const std::string& text) { return text.find("PAGED:") != std::string::npos; };
  EXPECT_FALSE(is_paged(Shown(report_, {mark})));
  rows_ = 5;
  EXPECT_TRUE(is_paged(Shown(report_, {mark})));
  EXPECT_TRUE(is_paged(Shown(report_, {"PAGER=sed s/^/PAGED:/"})));
  EXPECT_TRUE(is_paged(Shown(report_, {"PAGER=false", mark})));
  EXPECT_FALSE(is_paged(Shown(With(report_, "--no-pager"), {mark})));
  setenv("LAGWATCH_PAGER", "sed s/^/PAGED:/", 1);
  EXPECT_FALSE(is_paged(Piped(report_)));
  unsetenv("LAGWATCH_PAGER");
  const std::string plain = Piped(report_);
  const Words whole = With(report_, "--all-frames");
  EXPECT_EQ(WithoutMark(WithoutColours(Shown(whole, {"LAGWATCH_PAGER="}))), plain);
  EXPECT_EQ(WithoutMark(WithoutColours(Shown(whole, {"LAGWATCH_PAGER=no-such-pager 2>/dev/null"}))), plain);
  EXPECT_THAT(Shown(report_, {"LAGWATCH_PAGER=head -n 1"}), HasSubstr("\x1b[1m"));  // the reader ends it
}

TEST_F(ScreenTest, LinesFitTheTerminal) {
  columns_ = 70;
  for (const Words& words : {Words{"doctor", "--spool", spool_}, Words{"clusters", "--spool", spool_}}) {
    std::istringstream lines(WithoutColours(Shown(words, {"LAGWATCH_PAGER="})));
    int count = 0;
    for (std::string line; std::getline(lines, line); ++count) {
      const auto is_continuation = [](char byte) {
        return (static_cast<unsigned char>(byte) & 0xc0) == 0x80;
      };
      const auto width = static_cast<long>(line.size()) - std::ranges::count_if(line, is_continuation);
      const bool is_of_one_word = line.find(' ', line.find_first_not_of(' ')) == std::string::npos;
      EXPECT_TRUE(width <= columns_ || is_of_one_word || line.starts_with("                       ")) << line;
    }
    EXPECT_GE(count, 2);
  }
}

// The cause, its stack and its verdict, whole in what is shown.
TEST_F(ScreenTest, NarrowTerminalsKeepTheCauseAndDropTheRest) {
  for (const int columns : {40, 60}) {
    columns_ = columns;
    for (const Words& command :
         {report_, Words{"reports", "--spool", spool_}, Words{"clusters", "--spool", spool_}}) {
      const std::string shown = WithoutColours(Shown(command));
      EXPECT_THAT(shown, HasSubstr("namespace)::Fr")) << command[0];
      std::istringstream lines(shown);
      for (std::string line; std::getline(lines, line);) {
        const auto is_inside = [](char byte) { return (static_cast<unsigned char>(byte) & 0xc0) == 0x80; };
        EXPECT_LE(line.size() - static_cast<size_t>(std::ranges::count_if(line, is_inside)),
                  static_cast<size_t>(columns))
            << line;
      }
    }
    const std::string report = WithoutColours(Shown(report_));
    EXPECT_THAT(report, HasSubstr("\n  verdict  cpu"));
    EXPECT_THAT(report, HasSubstr("\nMost expensive stack\n"));
    EXPECT_THAT(report, Not(HasSubstr("\nThreads\n")));
    EXPECT_THAT(report, HasSubstr("A wider terminal also shows"));
  }
  columns_ = 80;
  EXPECT_THAT(WithoutColours(Shown(report_)), HasSubstr("\nThreads\n"));
}

// One hang of each says nothing about a difference.
TEST_F(ScreenTest, ComparesTwoVersionsWithoutAJudgementThatChanceMayExplain) {
  for (const char* version : {"2.3.0", "2.4.0"}) {
    Process program(Watched({LAGWATCH_WAIT_LOOP, "poll", "500"}, {"--app-version", version}));
    ASSERT_EQ(program.Wait(), 0) << program.Errors();
  }
  const std::string text = Piped({"compare", "2.3.0", "2.4.0", "--spool", spool_});
  EXPECT_THAT(text, HasSubstr("2.3.0: 1 hang of 1 user in "));
  EXPECT_THAT(text, HasSubstr("\nCHANGE  2.3.0 S/H "));
  EXPECT_THAT(text, ::testing::ContainsRegex("\n        [0-9.]+ \\([0-9.]+ … [0-9.]+\\)  [^\n]*FreezeHere"));
  columns_ = 60;
  EXPECT_THAT(Shown({"compare", "2.3.0", "2.4.0", "--spool", spool_}), Not(HasSubstr("2.3.0 S/H")));
  Process wrong({LAGWATCH_PROGRAM, "compare", "2.3.0", "2.9.0", "--spool", spool_});
  EXPECT_EQ(wrong.Wait(), 1);
  EXPECT_THAT(wrong.Errors(), HasSubstr("no version '2.9.0' in the newest reports; did you mean '2."));
}

}  // namespace
}  // namespace lagwatch::tools
