// SPDX-License-Identifier: Apache-2.0
// `lagwatch trace top` without a terminal, of programs whose shares are known.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <fstream>
#include <sstream>

#include "tests/tools/trace/recorded.h"
#include "tests/tools/trace/top_pages.h"

namespace lagwatch::tools {
namespace {

using ::testing::AnyOf;
using testing::HasRecorder;
using ::testing::HasSubstr;
using ::testing::Not;
using testing::ParseTopPages;
using testing::Process;
using testing::TopCommand;
using testing::TopPage;
using testing::TopRow;
using testing::WaitUntil;

// Whether "mixed" had most of the two thirds of a processor that it takes. On a busy machine its few samples
// show no shares.
bool HadProcessor(const TopPage& page) { return page.processor_percent > 40; }

class TopTest : public ::testing::Test {
 protected:
  // The exit code; what it printed is in pages_ and errors_.
  int RunTop(const std::vector<std::string>& flags) {
    Process top(TopCommand(flags));
    const int code = top.Wait();
    output_ = top.Output();
    errors_ = top.Errors();
    pages_ = ParseTopPages(output_);
    return code;
  }
  // With the page's text, for the message of a failure.
  TopRow Row(const std::string& function) const {
    if (pages_.empty()) return {};
    const auto row = pages_.back().Find(function);
    EXPECT_TRUE(row.has_value()) << function << " is not in\n" << pages_.back().text;
    return row.value_or(TopRow());
  }

  std::string output_;
  std::string errors_;
  std::vector<TopPage> pages_;
};

TEST_F(TopTest, FunctionsHaveTheirSharesOfTheProcessor) {
  ASSERT_EQ(RunTop({"--count", "3", "--all", "--", LAGWATCH_SHARES, "mixed", "60", "0"}), 0) << errors_;
  ASSERT_EQ(pages_.size(), 3u) << output_;
  if (HadProcessor(pages_.back())) {
    ASSERT_GE(pages_.back().rows.size(), 2u) << output_;
    EXPECT_EQ(pages_.back().rows[0].function, "SharesHot") << output_;
    EXPECT_EQ(pages_.back().rows[1].function, "SharesWarm") << output_;
    EXPECT_NEAR(Row("SharesHot").self_percent, 74, 12) << output_;
    EXPECT_NEAR(Row("SharesWarm").self_percent, 26, 12) << output_;
  }
  EXPECT_GT(Row("SharesMixed").total_percent, 95) << output_;
  EXPECT_LT(Row("SharesMixed").self_percent, 5) << output_;
  EXPECT_EQ(Row("SharesHot").kind, "cpu");
  EXPECT_FALSE(pages_.back().Find("SharesIdle")) << output_;
  EXPECT_GT(pages_.back().processor_percent, 0) << output_;
  EXPECT_LE(pages_.back().processor_percent, 120) << output_;
}

TEST_F(TopTest, WaitingThreadsHaveTheirSharesOfTheTime) {
  ASSERT_EQ(RunTop({"--count", "6", "--all", "--waits", "--sort", "total", "--", LAGWATCH_SHARES, "mixed",
                    "60", "0"}),
            0)
      << errors_;
  // One of two threads is idle, and the other one sleeps for a third of its time. Its time of waiting for a
  // processor belongs to no function, so on a busy machine the idle one has the greater share.
  EXPECT_GE(Row("SharesIdle").total_percent, 45) << output_;
  EXPECT_EQ(Row("SharesIdle").kind, "wait");
  if (!HadProcessor(pages_.back())) return;
  EXPECT_LE(Row("SharesIdle").total_percent, 80) << output_;
  EXPECT_NEAR(Row("SharesIdle").total_percent + Row("SharesMixed").total_percent, 100, 5) << output_;
  EXPECT_EQ(Row("SharesMixed").kind, "both");
  EXPECT_EQ(Row("SharesRest").kind, "wait");
  EXPECT_GT(Row("SharesRest").total_percent, 5) << output_;
  EXPECT_LT(Row("SharesRest").total_percent, 30) << output_;
  EXPECT_GT(Row("SharesHot").self_percent, 2 * Row("SharesWarm").self_percent) << output_;
}

TEST_F(TopTest, AnIntervalTellsOfItselfOnly) {
  const std::vector<std::string> program = {"--", LAGWATCH_SHARES, "phases", "4", "0"};
  std::vector<std::string> flags = {"--refresh", "0.5"};
  flags.insert(flags.end(), program.begin(), program.end());
  ASSERT_EQ(RunTop(flags), 0) << errors_;
  ASSERT_GE(pages_.size(), 6u) << output_;
  // On a busy machine a page may have no samples. In one interval the program goes from one phase to the
  // next.
  const auto with_both = std::ranges::count_if(
      pages_, [](const TopPage& page) { return page.Find("SharesHot") && page.Find("SharesWarm"); });
  EXPECT_LE(with_both, 1) << output_;
  const auto first_with = [&](const char* function) {
    return std::ranges::find_if(pages_, [&](const TopPage& page) { return page.Find(function).has_value(); });
  };
  EXPECT_LT(first_with("SharesHot"), first_with("SharesWarm")) << output_;
  EXPECT_LT(first_with("SharesWarm"), pages_.end()) << output_;
  flags.insert(flags.begin(), "--all");
  ASSERT_EQ(RunTop(flags), 0) << errors_;
  ASSERT_FALSE(pages_.empty());
  if (HadProcessor(pages_.back())) {
    EXPECT_NEAR(Row("SharesHot").self_percent, 50, 15) << output_;
    EXPECT_NEAR(Row("SharesWarm").self_percent, 50, 15) << output_;
  }
}

TEST_F(TopTest, EndsWithTheProgramAndItsCode) {
  EXPECT_EQ(RunTop({"--", LAGWATCH_SHARES, "mixed", "2", "3"}), 3) << errors_;
  EXPECT_GE(pages_.size(), 2u) << output_;
  EXPECT_THAT(errors_, HasSubstr("has ended with 3; --output FILE"));
}

TEST_F(TopTest, QuittingEndsTheProgramThatItStarted) {
  ASSERT_EQ(RunTop({"--refresh", "0.5", "--count", "1", "--", LAGWATCH_SHARES, "mixed", "60", "0"}), 0);
  ASSERT_EQ(pages_.size(), 1u) << output_;
  EXPECT_EQ(kill(pages_[0].pid, 0), -1);
}

TEST_F(TopTest, AProgramThatDoesNotEndIsKilledOnRequest) {
  Process top(TopCommand({"--refresh", "0.5", "--count", "1", "--", "/bin/sh", "-c",
                          "trap '' TERM; while true; do sleep 0.1; done"}));
  ASSERT_TRUE(WaitUntil([&] { return top.Errors().find("waiting for sh") != std::string::npos; }))
      << top.Errors();
  top.Signal(SIGINT);
  EXPECT_EQ(top.Wait(), 0);
  EXPECT_EQ(kill(ParseTopPages(top.Output()).at(0).pid, 0), -1);
}

TEST_F(TopTest, WhatTheProgramPrintsIsKeptAwayOrInAFile) {
  const testing::TraceDirectory directory;
  const std::string file = directory / "output";
  EXPECT_EQ(RunTop({"--output", file, "--", LAGWATCH_SHARES, "mixed", "1", "0"}), 0) << errors_;
  EXPECT_THAT(output_, Not(HasSubstr("ready")));
  std::ostringstream written;
  written << std::ifstream(file).rdbuf();
  EXPECT_EQ(written.str(), "ready\n");
}

TEST_F(TopTest, AProcessGoesOnUnrecordedWhenNobodyLooksAnyMore) {
  Process program({LAGWATCH_SHARES, "mixed", "60", "0"});
  ASSERT_TRUE(WaitUntil([&] { return program.Output() == "ready\n"; }));
  const std::string pid = std::to_string(program.pid());
  for (int i = 0; i < 2; ++i) {
    ASSERT_EQ(RunTop({"--pid", pid, "--count", "2"}), 0) << errors_;
    ASSERT_EQ(pages_.size(), 2u) << output_;
    EXPECT_EQ(pages_[1].pid, program.pid());
    if (HadProcessor(pages_[1])) {
      EXPECT_EQ(pages_[1].rows.at(0).function, "SharesHot") << output_;
    }
    EXPECT_TRUE(WaitUntil([&] { return !HasRecorder(program.pid()); }));
  }
  EXPECT_EQ(kill(program.pid(), 0), 0);
}

TEST_F(TopTest, ItsReaderMayGo) {
  Process program({LAGWATCH_SHARES, "mixed", "60", "0"});
  ASSERT_TRUE(WaitUntil([&] { return program.Output() == "ready\n"; }));
  Process shell({"/bin/sh", "-c",
                 std::string(LAGWATCH_PROGRAM) + " trace top --refresh 0.3 --pid " +
                     std::to_string(program.pid()) + " | head -n 1"});
  EXPECT_EQ(shell.Wait(), 0) << shell.Errors();
  EXPECT_TRUE(WaitUntil([&] { return !HasRecorder(program.pid()); }));
}

TEST_F(TopTest, SaysWhatIsWrong) {
  Process gone({"/bin/true"});
  EXPECT_EQ(gone.Wait(), 0);
  EXPECT_EQ(RunTop({"--pid", std::to_string(gone.pid())}), 2);
  EXPECT_THAT(errors_, HasSubstr("trace top: no such process: " + std::to_string(gone.pid())));
  EXPECT_EQ(RunTop({"--", "/no/such/program"}), 127);
  EXPECT_THAT(errors_, HasSubstr("trace top: /no/such/program"));
  EXPECT_EQ(RunTop({"--", LAGWATCH_STATIC_PROGRAM}), 2);
  EXPECT_THAT(errors_, HasSubstr("static"));
  EXPECT_EQ(RunTop({"--output", "/no/such/directory/file", "--", "/bin/true"}), 2);
  EXPECT_THAT(errors_, HasSubstr("cannot open /no/such/directory/file"));
  EXPECT_NE(RunTop({}), 0);
  EXPECT_THAT(errors_, HasSubstr("trace top: a program (-- PROGRAM ARGUMENTS) or --pid"));
}

TEST_F(TopTest, RedisUnderLoadIsSeenInItsLoop) {
  const testing::TraceDirectory directory;
  const std::string socket = directory / "redis.sock";
  Process server({"/usr/bin/redis-server", "--port", "0", "--unixsocket", socket, "--save", ""});
  ASSERT_TRUE(WaitUntil([&] { return access(socket.c_str(), F_OK) == 0; })) << server.Output();
  Process load({"/usr/bin/redis-benchmark", "-s", socket, "-q", "-n", "100000000", "-t", "set,get"});
  ASSERT_EQ(RunTop({"--pid", std::to_string(server.pid()), "--count", "4", "-n", "200"}), 0) << errors_;
  ASSERT_FALSE(pages_.empty());
  // In the last second: the first stacks are cut short where unwind tables are still being made.
  EXPECT_GT(pages_.back().processor_percent, 0) << output_;
  if (pages_.back().processor_percent < 20) return;  // a busy machine has few samples
  EXPECT_GT(Row("aeMain").total_percent, 90) << output_;
  EXPECT_LT(Row("aeMain").self_percent, 10) << output_;
  // A server of so small requests is busy with system calls.
  EXPECT_THAT(pages_.back().rows.at(0).function,
              AnyOf(HasSubstr("write"), HasSubstr("read"), HasSubstr("epoll_wait")));
}

}  // namespace
}  // namespace lagwatch::tools
