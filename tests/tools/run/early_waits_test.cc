// SPDX-License-Identifier: Apache-2.0
// Freezes in a loop's first dispatches, and programs that poll a few times and then idle.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <csignal>
#include <filesystem>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "tests/tools/run/run_testing.h"

namespace lagwatch::tools {
namespace {

using ::testing::HasSubstr;

// The number of waits, and of the descriptors that they are for.
class EarlyWaitsTest : public RunTest, public ::testing::WithParamInterface<std::pair<int, int>> {
 protected:
  // Polls, waits in each of `kinds` and polls `then` times: a process each, all at once. Returns what they
  // said on stderr.
  std::vector<std::string> RunAll(const std::vector<std::string>& kinds, int then) const {
    const auto [times, descriptors] = GetParam();
    std::vector<std::unique_ptr<Process>> processes;
    for (const std::string& kind : kinds) {
      processes.push_back(
          std::make_unique<Process>(Watched({LAGWATCH_EARLY_WAITS, kind, std::to_string(times),
                                             std::to_string(descriptors), std::to_string(then)},
                                            {"--verbose"})));
    }
    std::vector<std::string> errors;
    for (const auto& process : processes) {
      EXPECT_EQ(process->Wait(), 0);
      EXPECT_EQ(process->Output(), "good\n");
      errors.push_back(process->Errors());
    }
    return errors;
  }
};

TEST_P(EarlyWaitsTest, AFreezeIsReportedWithItsWholeLengthAndStack) {
  std::vector<std::string> kinds = {"rwlock", "flock",     "child", "recv",
                                    "nap",    "condition", "join",  "poll-nothing"};
  // At one socket, a client waits for its server in this way.
  if (GetParam().second > 1) kinds.push_back("poll-another");
  const std::vector<std::string> errors = RunAll(kinds, 5);
  for (size_t i = 0; i < kinds.size(); ++i) EXPECT_THAT(errors[i], HasSubstr("1 hang\n")) << kinds[i];
  const json reports = Ask({"reports"});
  EXPECT_EQ(reports.size(), kinds.size());
  for (const json& report : reports) {
    EXPECT_EQ(report["ended"], true);
    EXPECT_GE(report["duration_ms"], 500);  // of 700, of which a busy machine may have taken some away
    EXPECT_THAT(report["cause"].dump(), HasSubstr("WaitHere"));
  }
}

TEST_P(EarlyWaitsTest, AProgramMayPollAFewTimesAndThenIdle) {
  const auto [times, descriptors] = GetParam();
  if (descriptors == 1) RunAll({"recv-polled"}, 5);
  const bool is_early = times < 10;
  const std::vector<std::string> errors =
      is_early ? RunAll({"recv", "condition", "join"}, 0) : std::vector<std::string>{};
  for (const std::string& text : errors)
    EXPECT_THAT(text, HasSubstr("0 hangs; 1 wait may have been idleness\n"));
  EXPECT_EQ(Ask({"reports"}), json::array());
  if (!is_early) return;
  Process losses({LAGWATCH_PROGRAM, "losses", "--spool", spool_});
  EXPECT_EQ(losses.Wait(), 0);
  EXPECT_THAT(losses.Errors(), HasSubstr("early_waits: 3 waits may have been idleness\n"));
}

INSTANTIATE_TEST_SUITE_P(EachDispatch, EarlyWaitsTest,
                         ::testing::Values(std::pair(1, 1), std::pair(1, 2), std::pair(5, 1), std::pair(5, 2),
                                           std::pair(50, 1)),
                         [](const auto& waits) {
                           return std::to_string(waits.param.first) + "_of_" +
                                  std::to_string(waits.param.second);
                         });

// No thread idles in a child's end or in another descriptor's read inside of its loop's function.
TEST_F(RunTest, ReportsWhatIsNoIdlenessWhileItLasts) {
  for (const std::string kind : {"child", "recv"}) {
    Process frozen(Watched({LAGWATCH_EARLY_WAITS, kind, "5", "1", "0", "inside"}));
    json reports;
    EXPECT_TRUE(testing::WaitUntil([&] { return std::filesystem::exists(spool_); })) << kind;
    EXPECT_TRUE(testing::WaitUntil([&] {
      reports = Ask({"reports"});
      return !reports.empty();
    })) << kind;
    EXPECT_EQ(kill(frozen.pid(), SIGKILL), 0);
    EXPECT_EQ(frozen.Wait(), -SIGKILL);
    ASSERT_FALSE(reports.empty());
    EXPECT_THAT(reports[0]["cause"].dump(), HasSubstr("WaitHere"));
    std::filesystem::remove_all(spool_);
  }
}

TEST_F(RunTest, SaysThatAProgramWasKilledInAnEarlyFreeze) {
  // The machine may be busy: then it was killed too soon.
  for (std::chrono::seconds pause(1); pause < std::chrono::seconds(20); pause *= 2) {
    Process frozen(Watched({LAGWATCH_EARLY_WAITS, "recv", "5", "1", "0", "for good"}));
    EXPECT_TRUE(testing::WaitUntil([&] { return frozen.Output() == "waiting\n"; }));
    std::this_thread::sleep_for(pause);
    EXPECT_EQ(kill(frozen.pid(), SIGKILL), 0);
    EXPECT_EQ(frozen.Wait(), -SIGKILL);
    EXPECT_EQ(Process(Watched({LAGWATCH_EARLY_WAITS, "recv-polled", "2", "1", "0"})).Wait(), 0);
    const json usage = Ask({"usage"});
    if (!usage.empty() && usage[0]["exits"].contains("killed-in-hang")) return;
  }
  FAIL() << Ask({"usage"});
}

}  // namespace
}  // namespace lagwatch::tools
