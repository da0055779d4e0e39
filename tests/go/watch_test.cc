// SPDX-License-Identifier: Apache-2.0
// Goroutines that hang, and some that do not, under `lagwatch watch`.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "tests/tools/watch/watch_testing.h"

namespace lagwatch::tools {
namespace {

class GoWatchTest : public WatchTest {
 protected:
  std::vector<json> ReportsOfScene(const std::string& scene, const std::string& milliseconds) {
    return Reports({LAGWATCH_GO_PROGRAM, scene, milliseconds});
  }
  static std::string Text(const json& part) { return part.dump(1); }
};

TEST_F(GoWatchTest, ReportsAWaitForALockWithTheGoroutineThatHasIt) {
  const std::vector<json> reports = ReportsOfScene("mutex", "3000");
  ASSERT_EQ(reports.size(), 1u) << Text(reports) << watcher_errors_;
  const json& report = reports[0];
  const std::string stack = Text(report.at("expensive_stack"));
  EXPECT_NE(stack.find("main.waitForMutex (goroutines.go)"), std::string::npos) << stack;
  EXPECT_NE(report.at("facts").at("task").get<std::string>().find(" in sync.Mutex at main.waitForMutex"),
            std::string::npos)
      << Text(report.at("facts"));
  EXPECT_EQ(report.at("verdict").at("word"), "lock") << Text(report.at("verdict"));
  EXPECT_NE(report.at("facts").at("probably_waits_for_name").get<std::string>().find("goroutine"),
            std::string::npos);
  EXPECT_TRUE(report.at("ended").get<bool>());
  const json& threads = report.at("threads");
  EXPECT_TRUE(std::ranges::any_of(threads, [](const json& thread) {
    return thread.dump().find("main.holdMutex") != std::string::npos;
  })) << Text(threads);
}

TEST_F(GoWatchTest, FindsADeadlock) {
  const std::vector<json> reports = ReportsOfScene("deadlock", "3000");
  ASSERT_FALSE(reports.empty()) << watcher_errors_;
  for (const json& report : reports) {
    EXPECT_TRUE(report.at("deadlock").get<bool>()) << Text(report.at("waits"));
    EXPECT_EQ(report.at("waits").size(), 2u);
  }
}

TEST_F(GoWatchTest, ReportsARequestThatWaits) {
  const std::vector<json> reports = ReportsOfScene("request", "3000");
  ASSERT_EQ(reports.size(), 1u) << Text(reports) << watcher_errors_;
  const std::string stack = Text(reports[0].at("expensive_stack"));
  EXPECT_NE(stack.find("main.answerLate (goroutines.go)"), std::string::npos) << stack;
}

TEST_F(GoWatchTest, ReportsNothingOfAProgramThatIdles) {
  threshold_ms_ = "1500";  // on a busy machine locks are kept for longer
  EXPECT_EQ(Text(ReportsOfScene("idle", "4000")), "[]") << watcher_errors_;
}

}  // namespace
}  // namespace lagwatch::tools
