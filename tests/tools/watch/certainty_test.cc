// SPDX-License-Identifier: Apache-2.0
// The proofs that a dispatch seen from outside goes on: counts of returns, windows and compositors.
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <filesystem>
#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include "tests/tools/watch/watch_testing.h"

namespace lagwatch::tools {
namespace {

namespace fs = std::filesystem;
using testing::WaitUntil;

// Only a count of its wait's returns can show that it was not back there meanwhile, which not every kernel
// permits.
TEST_F(WatchTest, ReportsAHandlerThatPausesWhereThatIsCertain) {
  if (!AreReturnsCounted()) GTEST_SKIP() << "this machine counts no returns";
  const std::vector<json> reports = ReportsOf("pauses");
  EXPECT_FALSE(reports.empty());
  for (const json& report : reports)
    EXPECT_NE(report.at("expensive_stack").dump().find("PauseInHandler"), std::string::npos);
}

TEST_F(WatchTest, ReportsNoLoopThatIsOnlyBusyNorOneThatIsIdle) {
  EXPECT_EQ(ReportsOf("calm").size(), 0u);
  EXPECT_EQ(watcher_errors_.find("tracepoints make") != std::string::npos,
            HasTracepoints() && !HasBreakpoints());
  if (!AreReturnsCounted()) GTEST_SKIP() << "without a count a loop that is only busy looks like a hang";
  EXPECT_EQ(ReportsOf("saturated").size(), 0u);
}

// Also after a sleep of more than ten looks.
TEST_F(WatchTest, CountsByTracepointsWhereBreakpointsAreTaken) {
  if (!HasTracepoints()) GTEST_SKIP() << "only root finds tracepoints";
  TakeBreakpoints();
  EXPECT_EQ(ReportsOf("saturated").size(), 0u);
  const std::vector<json> reports = ReportsOf("rests");
  ASSERT_GE(reports.size(), 1u) << watcher_errors_;
  for (const json& report : reports) EXPECT_EQ(report.at("hang_id"), reports[0].at("hang_id")) << "one hang";
  EXPECT_GT(reports[0].at("duration_ms").get<double>(), 2500) << reports[0].dump(1);
}

TEST_F(WatchTest, ReportsWhatIsOnlyProbableWhenItIsWanted) {
  PermitNoCounts();
  EXPECT_EQ(ReportsOf("pauses").size(), 0u);
  EXPECT_EQ(watcher_errors_.find("cannot be counted") != std::string::npos, !HasBreakpoints())
      << watcher_errors_;
  const std::vector<json> reports = ReportsOf("pauses", {"--probable"});
  ASSERT_GE(reports.size(), 1u) << watcher_errors_;
  EXPECT_NE(reports[0].at("expensive_stack").dump().find("PauseInHandler"), std::string::npos);
}

// An X server's question to the window decides, since nothing else is known of the thread.
class WindowTest : public WatchTest, public ::testing::WithParamInterface<const char*> {};

TEST_P(WindowTest, ReportsAHandlerInWhichTheWindowDoesNotAnswer) {
  if (*LAGWATCH_WINDOWED_PROGRAM == '\0') GTEST_SKIP() << "built without libxcb";
  const std::string display = ":" + std::to_string(20'000 + getpid() % 10'000);
  Process server({"/usr/bin/Xvfb", display, "-nolisten", "tcp"});
  ASSERT_TRUE(WaitUntil([&] { return fs::exists("/tmp/.X11-unix/X" + display.substr(1)); }))
      << server.Errors();
  PermitNoCounts();
  threshold_ms_ = "400";
  const std::vector<json> reports =
      Reports({"/usr/bin/env", "DISPLAY=" + display, LAGWATCH_WINDOWED_PROGRAM, GetParam()});
  server.Signal(SIGTERM);
  EXPECT_EQ(server.Wait(), 0);
  EXPECT_NE(program_output_.find("done"), std::string::npos);
  if (GetParam() == std::string("served")) {
    EXPECT_EQ(reports.size(), 0u) << json(reports).dump(1);
    return;
  }
  ASSERT_GE(reports.size(), 1u) << watcher_errors_;
  for (const json& report : reports) EXPECT_EQ(report.at("hang_id"), reports[0].at("hang_id")) << "one hang";
  EXPECT_NE(reports[0].at("expensive_stack").dump().find("PauseInHandler"), std::string::npos);
  EXPECT_EQ(reports[0].at("facts").value("window_ping", ""), "unanswered") << reports[0].at("facts").dump(1);
  EXPECT_LT(reports[0].at("duration_ms").get<double>(), 2500);
}
INSTANTIATE_TEST_SUITE_P(Handlers, WindowTest, ::testing::Values("frozen", "served"),
                         [](const auto& one) { return std::string(one.param); });

TEST_F(WatchTest, ReportsAComputationWithoutACountToo) {
  PermitNoCounts();
  const std::vector<json> reports = ReportsOf("computes", {"--probable"});
  ASSERT_GE(reports.size(), 1u) << watcher_errors_;
}

// A compositor's words of a window decide, since nothing else is known of the thread. Each case has these
// words, and whether a report is due.
struct CompositorCase {
  const char* name;
  std::vector<std::string> says;
  bool has_report;

  friend void PrintTo(const CompositorCase& one, std::ostream* stream) { *stream << one.name; }
};

class CompositorTest : public WatchTest, public ::testing::WithParamInterface<CompositorCase> {};

TEST_P(CompositorTest, DecidesWhereNothingElseIsKnown) {
  const std::string address = "unix:path=" + (directory_ / "bus");
  Process bus({"/usr/bin/dbus-daemon", "--session", "--nofork", "--nopidfile", "--print-address",
               "--address=" + address});
  ASSERT_TRUE(WaitUntil([&] { return bus.Output().starts_with(address); })) << bus.Errors();
  PermitNoCounts();
  around_ = [around = around_, address](std::vector<std::string> command) {
    command.insert(command.begin(), {"/usr/bin/env", "DBUS_SESSION_BUS_ADDRESS=" + address});
    return around(command);
  };
  std::unique_ptr<Process> compositor;
  while_running_ = [&, taking = while_running_](Process& program) {
    taking(program);
    std::vector<std::string> command = {"/usr/bin/python3", LAGWATCH_COMPOSITOR,
                                        std::to_string(program.pid())};
    command.insert(command.end(), GetParam().says.begin(), GetParam().says.end());
    compositor =
        std::make_unique<Process>(command, std::vector<std::string>{"DBUS_SESSION_BUS_ADDRESS=" + address});
    ASSERT_TRUE(WaitUntil([&] { return compositor->Output().find("ready") != std::string::npos; }))
        << compositor->Errors();
  };
  const std::vector<json> reports = Reports({LAGWATCH_WATCHED_PROGRAM, "pauses", "5"});
  ASSERT_EQ(reports.size() >= 1, GetParam().has_report) << json(reports).dump(1) << watcher_errors_;
  for (const json& report : reports) {
    EXPECT_NE(report.at("expensive_stack").dump().find("PauseInHandler"), std::string::npos);
    EXPECT_EQ(report.at("facts").value("window_ping", ""), "unanswered") << report.at("facts").dump(1);
  }
}

TEST_F(WatchTest, BeginsThoughTheBusStandsStill) {
  const std::string address = "unix:path=" + (directory_ / "bus");
  Process bus({"/usr/bin/dbus-daemon", "--session", "--nofork", "--nopidfile", "--print-address",
               "--address=" + address});
  ASSERT_TRUE(WaitUntil([&] { return bus.Output().starts_with(address); })) << bus.Errors();
  bus.Signal(SIGSTOP);
  around_ = [&](std::vector<std::string> command) {
    command.insert(command.begin(),
                   {"/usr/bin/env", "WAYLAND_DISPLAY=none", "DBUS_SESSION_BUS_ADDRESS=" + address});
    return command;
  };
  ExpectOne(Reports({LAGWATCH_WATCHED_PROGRAM, "sleeps", "5"}), "SleepInHandler");
  EXPECT_NE(watcher_errors_.find("the session bus does not answer"), std::string::npos) << watcher_errors_;
}

INSTANTIATE_TEST_SUITE_P(Words, CompositorTest,
                         ::testing::Values(CompositorCase{"hangs", {"hangs", "stays"}, true},
                                           CompositorCase{"answers", {"hangs", "answers", "stays"}, false},
                                           CompositorCase{"leaves", {"hangs", "leaves"}, false},
                                           CompositorCase{"nonsense", {"nonsense", "stays"}, false}),
                         [](const auto& one) { return std::string(one.param.name); });

}  // namespace
}  // namespace lagwatch::tools
