// SPDX-License-Identifier: Apache-2.0
// `lagwatch trace top` on a terminal.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <csignal>
#include <functional>
#include <optional>
#include <sstream>

#include "tests/tools/trace/recorded.h"
#include "tests/tools/trace/terminal_process.h"
#include "tests/tools/trace/top_pages.h"

namespace lagwatch::tools {
namespace {

using testing::HasRecorder;
using ::testing::HasSubstr;
using ::testing::Not;
using testing::ParseTopPage;
using testing::Process;
using testing::TerminalProcess;
using testing::TopCommand;
using testing::WaitUntil;

constexpr const char* kTakesScreen = "\x1b[?1049h";
constexpr const char* kGivesScreenBack = "\x1b[?7h\x1b[?25h\x1b[?1049l";

class TopScreenTest : public ::testing::Test {
 protected:
  void Start(std::vector<std::string> flags = {}, std::vector<std::string> environment = {}) {
    flags.insert(flags.begin(), {"--refresh", "0.3"});
    if (std::ranges::find(flags, "--pid") == flags.end())
      flags.insert(flags.end(), {"--", LAGWATCH_SHARES, "mixed", "60", "0"});
    top_.emplace(TopCommand(flags), std::move(environment));
  }
  bool Shows(const std::string& text) {
    return WaitUntil([&] { return top_->Screen().find(text) != std::string::npos; });
  }
  // The output after the screen was given back.
  std::string AfterScreen() {
    const size_t end = top_->Written().rfind(kGivesScreenBack);
    return end == std::string::npos ? "(the screen was not given back)" : top_->Written().substr(end);
  }
  void ExpectTerminalAsBefore() {
    EXPECT_THAT(top_->Written(), HasSubstr(kTakesScreen));
    EXPECT_THAT(top_->Written(), HasSubstr(kGivesScreenBack));
    EXPECT_THAT(AfterScreen(), Not(HasSubstr("\x1b[H")));
    EXPECT_TRUE(top_->IsUsual());
  }

  std::optional<TerminalProcess> top_;
};

TEST_F(TopScreenTest, QuitsAtAKeyAndLeavesTheTerminalAsItWas) {
  Start();
  ASSERT_TRUE(Shows("SharesHot")) << top_->Written();
  EXPECT_FALSE(top_->IsUsual());
  const auto page = ParseTopPage(top_->Screen());
  ASSERT_FALSE(page.rows.empty()) << page.text;
  EXPECT_EQ(page.rows[0].function, "SharesHot") << page.text;
  EXPECT_EQ(kill(page.pid, 0), 0);
  top_->Press("q");
  EXPECT_EQ(top_->Wait(), 0);
  ExpectTerminalAsBefore();
  EXPECT_EQ(kill(page.pid, 0), -1);
}

TEST_F(TopScreenTest, KeysChooseWhatIsShown) {
  Start();
  ASSERT_TRUE(Shows("the last 3")) << top_->Written();
  EXPECT_TRUE(Shows("running threads, by self"));
  EXPECT_THAT(top_->Screen(), Not(HasSubstr("SharesIdle")));
  top_->Press("t");
  EXPECT_TRUE(Shows("running threads, by total"));
  EXPECT_TRUE(WaitUntil([&] {
    const auto page = ParseTopPage(top_->Screen());
    return !page.rows.empty() && page.rows[0].function != "SharesHot" && page.rows[0].total_percent > 95;
  })) << top_->Screen();
  top_->Press("w");
  EXPECT_TRUE(Shows("running and waiting threads, by total"));
  EXPECT_TRUE(Shows("SharesIdle"));
  top_->Press("sa");
  EXPECT_TRUE(Shows("since the beginning, running and waiting threads, by self"));
  top_->Press("?");
  EXPECT_TRUE(Shows("sort by total"));
  top_->Press("?");
  EXPECT_TRUE(Shows("since the beginning"));
}

TEST_F(TopScreenTest, APauseHoldsThePage) {
  Start({"--all"});
  ASSERT_TRUE(Shows("SharesHot")) << top_->Written();
  top_->Press("p");
  ASSERT_TRUE(Shows("paused, since the beginning"));
  std::string page;
  ASSERT_TRUE(WaitUntil([&] {  // the rest of the page may still be written
    const std::string before = std::exchange(page, top_->Screen());
    return page == before;
  }));
  EXPECT_FALSE(WaitUntil([&] { return top_->Screen() != page; }, 1.5)) << page << "\n" << top_->Screen();
  top_->Press("p");
  EXPECT_TRUE(WaitUntil([&] {
    const std::string now = top_->Screen();
    return now.find("paused") == std::string::npos &&
           now.substr(0, now.find('\n')) != page.substr(0, page.find('\n'));
  }));
}

TEST_F(TopScreenTest, ArrowsScroll) {
  Start({"--sort", "total", "--waits", "--all"});
  top_->Resize(8, 80);
  const auto first = [&] {
    const auto page = ParseTopPage(top_->Screen());
    return page.rows.empty() ? std::string() : page.rows[0].function;
  };
  ASSERT_TRUE(WaitUntil([&] { return !first().empty(); })) << top_->Written();
  top_->Press("p");
  ASSERT_TRUE(Shows("paused"));
  const std::string top = first();
  top_->Press("\x1b[B");
  EXPECT_TRUE(WaitUntil([&] { return first() != top; })) << top_->Screen();
  top_->Press("\x1b[A");
  EXPECT_TRUE(WaitUntil([&] { return first() == top; })) << top_->Screen();
  top_->Press("\x1b[F");
  EXPECT_TRUE(WaitUntil([&] { return first() != top; })) << top_->Screen();
  const std::string last = first();
  top_->Press("\x1b[5~");
  EXPECT_TRUE(WaitUntil([&] { return first() != last; })) << top_->Screen();
  top_->Press("\x1b[H");
  EXPECT_TRUE(WaitUntil([&] { return first() == top; })) << top_->Screen();
}

TEST_F(TopScreenTest, PagesFitTheTerminalWhateverItsSize) {
  Start({"--waits", "--sort", "total"});
  ASSERT_TRUE(Shows("SharesMixed")) << top_->Written();
  top_->Press("p");  // from now on only the size makes it draw
  ASSERT_TRUE(Shows("paused"));
  const auto fits = [&](size_t most_lines, size_t most_columns) {
    std::istringstream lines(top_->Screen());
    size_t count = 0;
    for (std::string line; std::getline(lines, line); ++count)
      if (static_cast<size_t>(std::ranges::count_if(line, [](char c) { return (c & 0xc0) != 0x80; })) >
          most_columns)
        return false;
    return count == most_lines;
  };
  EXPECT_TRUE(WaitUntil([&] { return fits(24, 80); })) << top_->Screen();
  top_->Resize(40, 200);
  EXPECT_TRUE(WaitUntil([&] { return fits(40, 200); })) << top_->Screen();
  top_->Resize(10, 70);
  EXPECT_TRUE(WaitUntil([&] { return fits(10, 70); })) << top_->Screen();
}

TEST_F(TopScreenTest, SignalsLeaveTheTerminalAsItWas) {
  for (const int signal_number : {SIGINT, SIGTERM, SIGHUP, SIGQUIT}) {
    Start();
    ASSERT_TRUE(Shows("SharesHot")) << top_->Written();
    top_->Signal(signal_number);
    EXPECT_EQ(top_->Wait(), 0) << signal_number;
    ExpectTerminalAsBefore();
  }
  Start();
  ASSERT_TRUE(Shows("SharesHot")) << top_->Written();
  top_->Press("\x03");  // Ctrl-C
  EXPECT_EQ(top_->Wait(), 0);
  ExpectTerminalAsBefore();
}

TEST_F(TopScreenTest, TheEndOfTheProgramLeavesItsFigures) {
  top_.emplace(TopCommand({"--refresh", "0.3", "--", LAGWATCH_SHARES, "phases", "2", "7"}));
  ASSERT_TRUE(Shows("SharesHot")) << top_->Written();
  EXPECT_EQ(top_->Wait(), 7);
  ExpectTerminalAsBefore();
  EXPECT_THAT(AfterScreen(), HasSubstr("since the beginning"));
  EXPECT_THAT(AfterScreen(), HasSubstr("SharesHot"));
  EXPECT_THAT(AfterScreen(), HasSubstr("SharesWarm"));
  EXPECT_THAT(AfterScreen(), HasSubstr("has ended with 7"));
}

TEST_F(TopScreenTest, TheEndOfAProcessThatIsKilledEndsItToo) {
  Process program({LAGWATCH_SHARES, "mixed", "60", "0"});
  ASSERT_TRUE(WaitUntil([&] { return program.Output() == "ready\n"; }));
  Start({"--pid", std::to_string(program.pid())});
  ASSERT_TRUE(Shows("SharesHot")) << top_->Written();
  program.Signal(SIGKILL);
  EXPECT_EQ(top_->Wait(), 0);
  ExpectTerminalAsBefore();
  EXPECT_THAT(AfterScreen(), HasSubstr("has ended"));
}

TEST_F(TopScreenTest, AProcessIsLetGoWhenTheTerminalIsGone) {
  Process program({LAGWATCH_SHARES, "mixed", "60", "0"});
  ASSERT_TRUE(WaitUntil([&] { return program.Output() == "ready\n"; }));
  Start({"--pid", std::to_string(program.pid())});
  ASSERT_TRUE(Shows("SharesHot")) << top_->Written();
  EXPECT_TRUE(HasRecorder(program.pid()));
  top_->HangUp();
  EXPECT_EQ(top_->Wait(), 0);
  EXPECT_TRUE(WaitUntil([&] { return !HasRecorder(program.pid()); }));
  EXPECT_EQ(kill(program.pid(), 0), 0);
}

TEST_F(TopScreenTest, ErrorsComeBeforeTheScreenIsTaken) {
  Process gone({"/bin/true"});
  EXPECT_EQ(gone.Wait(), 0);
  Start({"--pid", std::to_string(gone.pid())});
  EXPECT_EQ(top_->Wait(), 2);
  EXPECT_THAT(top_->Written(), HasSubstr("no such process: " + std::to_string(gone.pid())));
  EXPECT_THAT(top_->Written(), Not(HasSubstr(kTakesScreen)));
  EXPECT_TRUE(top_->IsUsual());
}

TEST_F(TopScreenTest, ThereAreColoursUnlessSomebodyDoesNotWantThem) {
  for (const bool is_wanted : {true, false}) {
    Start({}, is_wanted ? std::vector<std::string>() : std::vector<std::string>{"NO_COLOR=1"});
    ASSERT_TRUE(Shows("SharesHot")) << top_->Written();
    EXPECT_EQ(top_->Written().find("\x1b[31m") != std::string::npos, is_wanted);
    EXPECT_EQ(top_->Written().find("\x1b[1m") != std::string::npos, is_wanted);
  }
}

}  // namespace
}  // namespace lagwatch::tools
