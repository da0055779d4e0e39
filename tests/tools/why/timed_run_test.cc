// SPDX-License-Identifier: Apache-2.0
// `lagwatch why --timeout`: of commands that end in time, and of others.
#include <gtest/gtest.h>
#include <signal.h>

#include <cerrno>
#include <chrono>
#include <string>
#include <vector>

#include "tests/testing/process.h"

namespace lagwatch::tools {
namespace {

using testing::Process;

std::vector<std::string> Timed(const std::string& timeout, const std::string& script) {
  return {LAGWATCH_PROGRAM, "why", "--timeout", timeout, "--", "sh", "-c", script};
}

TEST(TimedRunTest, ReturnsWhatTheCommandReturns) {
  Process good(Timed("1h", "echo out; exit 0"));
  EXPECT_EQ(good.Wait(), 0);
  EXPECT_EQ(good.Output(), "out\n");
  EXPECT_EQ(good.Errors(), "");
  Process bad(Timed("60", "exit 7"));
  EXPECT_EQ(bad.Wait(), 7);
  Process killed(Timed("5m", "kill -KILL $$"));
  EXPECT_EQ(killed.Wait(), 128 + SIGKILL);
}

TEST(TimedRunTest, ExplainsTheWholeTreeAndEndsIt) {
  Process command(Timed("1s", "echo begun; sleep 600; echo never"));
  EXPECT_EQ(command.Wait(), 124);
  EXPECT_EQ(command.Output(), "begun\n");
  EXPECT_NE(command.Errors().find("sh has not ended after 1s; its processes:"), std::string::npos)
      << command.Errors();
  EXPECT_NE(command.Errors().find("for its child sleep (pid "), std::string::npos) << command.Errors();
  // Nothing is left of it.
  const std::string pid = command.Errors().substr(command.Errors().find("\nsleep (pid ") + 12);
  EXPECT_NE(kill(std::stoi(pid), 0), 0);
  EXPECT_EQ(errno, ESRCH);
}

TEST(TimedRunTest, EndsWhatIgnoresTheSignal) {
  const auto begin = std::chrono::steady_clock::now();
  Process command(Timed("1s", "echo $$; trap '' TERM; while :; do sleep 0.1; done"));
  EXPECT_EQ(command.Wait(), 124);
  EXPECT_GE(std::chrono::steady_clock::now() - begin, std::chrono::seconds(6));
  EXPECT_NE(kill(std::stoi(command.Output()), 0), 0);
  EXPECT_EQ(errno, ESRCH);
}

// The parents of the command's daemons have ended: they must not stay as zombies while it runs.
TEST(TimedRunTest, LeavesNoZombiesWhileTheCommandRuns) {
  Process waiting(Timed(
      "60",
      "pid=$(sh -c 'sleep 0.1 >/dev/null & echo $!'); while kill -0 $pid 2>/dev/null; do sleep 0.05; done"));
  EXPECT_EQ(waiting.Wait(), 0);
}

TEST(TimedRunTest, GivesEachProcessTimeToEnd) {
  Process command(
      Timed("1s", "sh -c 'trap \"sleep 1; echo tidied; exit\" TERM; while :; do sleep 0.1; done' & wait"));
  EXPECT_EQ(command.Wait(), 124);
  EXPECT_EQ(command.Output(), "tidied\n");
}

TEST(TimedRunTest, RefusesWhatItCannotDo) {
  Process duration(Timed("soon", "true"));
  EXPECT_EQ(duration.Wait(), 2);
  EXPECT_NE(duration.Errors().find("'soon' is no duration: 90, 90s, 5m or 1h"), std::string::npos);
  Process program({LAGWATCH_PROGRAM, "why", "--timeout", "5", "--", "no-such-command"});
  EXPECT_EQ(program.Wait(), 2);
  EXPECT_NE(program.Errors().find("no-such-command"), std::string::npos);
}

}  // namespace
}  // namespace lagwatch::tools
