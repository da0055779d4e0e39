// SPDX-License-Identifier: Apache-2.0
// Starting and stopping, forks, limits, and what is left of the library in a program.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <lagwatch/lagwatch.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <functional>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "report/format/report.h"
#include "tests/sdk/sdk_testing.h"
#include "tests/testing/process.h"
#include "tests/testing/service_manager.h"

extern "C" int RunCTest(const char* spool_directory);

namespace lagwatch {
namespace {

using testing::WaitUntil;

TEST_F(SdkTest, WorksFromC) { EXPECT_EQ(RunCTest((directory_ / "spool").c_str()), 0); }

TEST_F(SdkTest, StaysOffInADirectoryThatOthersCanChange) {
  std::filesystem::create_directory(directory_ / "spool");
  chmod((directory_ / "spool").c_str(), 0777);
  auto monitor = Monitor::Start(TestOptions());
  EXPECT_FALSE(monitor.is_on());
  EXPECT_NE(std::string(monitor.why_off()).find("chmod go-w"), std::string::npos) << monitor.why_off();
  EXPECT_TRUE(std::filesystem::is_empty(directory_ / "spool"));
}

TEST_F(SdkTest, StaysOffAndSaysWhyWhenTheSpoolCannotBeMade) {
  Options options = TestOptions();
  options.spool_directory = "/proc/no/such/place";
  auto monitor = Monitor::Start(options);
  EXPECT_FALSE(monitor.is_on());
  EXPECT_NE(monitor.why_off().find("/proc/no"), std::string::npos) << monitor.why_off();
  auto loop = monitor.WatchLoop("ui");
  EXPECT_TRUE(loop.is_watched());
  ScopedDispatch dispatch(loop, "goes on all the same");
}

TEST_F(SdkTest, BringsOptionsIntoTheirRanges) {
  Options options = TestOptions();
  options.threshold_ms = 0;
  options.detection.check_period_ms = 0;
  options.detection.sample_interval_ms = UINT32_MAX;
  options.detection.ring_size = UINT32_MAX;
  auto monitor = Monitor::Start(options);
  ASSERT_TRUE(monitor.is_on());
  auto loop = monitor.WatchLoop("ui");
  FreezeUntilReported(loop, "short");
  EXPECT_EQ(Reports()[0].threshold_ms, 16u);
}

std::atomic<int> g_host_signals{0};

TEST_F(SdkTest, GoesOnCapturingWhenTheProgramTakesTheSignal) {
  Options options = TestOptions();
  options.process.capture_signal = SIGUSR2;
  auto monitor = Monitor::Start(options);
  auto loop = monitor.WatchLoop("ui");
  FreezeUntilReported(loop, "before");
  EXPECT_TRUE(WaitUntil([&] { return !Ends().empty(); }));  // no capture is under way
  g_host_signals = 0;
  struct sigaction own {};
  own.sa_handler = [](int) { ++g_host_signals; };
  sigaction(SIGUSR2, &own, nullptr);
  FreezeUntilReported(loop, "after");
  EXPECT_EQ(g_host_signals, 0);
  raise(SIGUSR2);
  EXPECT_TRUE(WaitUntil([] { return g_host_signals.load() == 1; }));
  report::Report after = Reports().back();
  EXPECT_EQ(after.tag, "after");
  EXPECT_GE(after.stacks[after.expensive_stack].frames.size(), 3u);
  EXPECT_EQ(FactOf(after, "handler_lost"), 1);
  EXPECT_EQ(FactOf(after, "handler_moved"), 1);
  EXPECT_EQ(monitor.stats().handler_moved, 1u);
  monitor.Stop();
  struct sigaction now {};
  sigaction(SIGUSR2, nullptr, &now);
  EXPECT_EQ(now.sa_handler, own.sa_handler);
}

TEST_F(SdkTest, StopsWhileAListenerAsksForTheCounts) {
  static std::atomic<bool> is_listening{false};
  static std::atomic<uint64_t> hangs{0};
  Options options = TestOptions();
  options.listener.hang_begin = [](void*, const lw_hang*) {
    is_listening = true;
    EXPECT_TRUE(WaitUntil([] { return std::string_view(lw_why_off()) == "it is being stopped"; }));
    lw_stats stats;
    lw_stats_init(&stats);
    lw_get_stats(&stats);
    hangs = stats.hangs;
  };
  auto monitor = Monitor::Start(options);
  auto loop = monitor.WatchLoop("ui");
  lw_dispatch_begin(loop.handle(), "goes on");
  ASSERT_TRUE(WaitUntil([] { return is_listening.load(); }));
  monitor.Stop(0);
  lw_dispatch_end(loop.handle());
  EXPECT_EQ(hangs.load(), 1u) << "the stop did not wait for its listener";
}

TEST_F(SdkTest, StopsWhileALoopIsInADispatchAndStartsAgain) {
  auto first = Monitor::Start(TestOptions());
  auto loop = first.WatchLoop("ui");
  lw_dispatch_begin(loop.handle(), "goes on");
  first.Stop(0);
  EXPECT_FALSE(first.is_on());
  lw_dispatch_end(loop.handle());
  auto second = Monitor::Start(TestOptions());
  ASSERT_TRUE(second.is_on()) << second.why_off();
  FreezeUntilReported(loop, "watched again");
  EXPECT_EQ(Reports()[0].tag, "watched again");
}

TEST_F(SdkTest, LeavesTheFirstMonitorRunningWhenStartedTwice) {
  auto first = Monitor::Start(TestOptions());
  {
    Options others = TestOptions();
    others.app = "second";
    auto second = Monitor::Start(others);
    EXPECT_TRUE(second.is_on());
  }
  EXPECT_TRUE(first.is_on());
  EXPECT_EQ(first.why_off(), "");
  auto loop = first.WatchLoop("ui");
  FreezeUntilReported(loop, "still watched");
  EXPECT_EQ(Reports()[0].app, "sdk-test");
}

TEST_F(SdkTest, FreesThePlacesOfThreadsThatEnd) {
  auto monitor = Monitor::Start(TestOptions());
  for (int i = 0; i < 200; ++i) {
    std::thread([&] {
      Loop loop = monitor.WatchLoop("short-lived");
      EXPECT_TRUE(loop.is_watched()) << i;
      if (i % 2 == 0) lw_dispatch_begin(loop.handle(), "never ended");
    }).join();
  }
  EXPECT_EQ(monitor.stats().loops_refused, 0u);
}

TEST_F(SdkTest, RefusesMoreLoopsThanItCanWatchAndCountsThem) {
  auto monitor = Monitor::Start(TestOptions());
  for (int i = 0; i < 8192; ++i) EXPECT_TRUE(monitor.WatchLoop("loop").is_watched());
  Loop refused = monitor.WatchLoop("one too many");
  EXPECT_FALSE(refused.is_watched());
  ScopedDispatch dispatch(refused, "harmless");
  EXPECT_EQ(monitor.stats().loops_refused, 1u);
}

std::set<int> OpenFiles() {
  std::set<int> fds;
  for (int fd = 0; fd < 1024; ++fd) {
    if (fcntl(fd, F_GETFD) >= 0) fds.insert(fd);
  }
  return fds;
}

#if !defined(__SANITIZE_THREAD__)  // which does not support threads in a child of a process with threads
TEST_F(SdkTest, IsOffInAForkedChildUntilStartedThere) {
  Monitor::Start(TestOptions()).Stop();  // libunwind opens a pipe of its own once
  std::set<int> files_before = OpenFiles();
  auto monitor = Monitor::Start(TestOptions());
  auto loop = monitor.WatchLoop("ui");
  FreezeUntilReported(loop, "in the parent");
  size_t reports = Reports().size();
  int result = InForkedChild([&] {
    if (std::string(lw_why_off()).empty()) return 1;
    if (OpenFiles() != files_before) return 2;
    for (int signal_number = SIGRTMIN; signal_number <= SIGRTMAX; ++signal_number) {
      struct sigaction action {};
      sigaction(signal_number, nullptr, &action);
      if (action.sa_handler != SIG_DFL) return 3;
    }
    auto child_monitor = Monitor::Start(TestOptions());
    if (!child_monitor.is_on()) return 4;
    FreezeUntilReported(loop, "in the child");
    return child_monitor.stats().hangs >= 1 ? 0 : 5;
  });
  EXPECT_EQ(result, 0);
  EXPECT_GT(Reports().size(), reports);
  EXPECT_EQ(Reports().back().tag, "in the child");
  EXPECT_TRUE(monitor.is_on());
  FreezeUntilReported(loop, "in the parent again");
}

TEST_F(SdkTest, SurvivesForksWhileItCaptures) {
  Options options = TestOptions();
  options.threshold_ms = 16;
  options.detection.sample_interval_ms = 1;
  auto monitor = Monitor::Start(options);
  auto loop = monitor.WatchLoop("ui");
  ScopedDispatch dispatch(loop, "forks all the time");
  for (int i = 0; i < 100; ++i) EXPECT_EQ(InForkedChild([] { return 7; }), 7);
}
#endif

TEST_F(SdkTest, LeavesNothingToAProgramThatIsExecuted) {
  const std::vector<std::string> count_files = {"/bin/sh", "-c", "ls /proc/self/fd | wc -l"};
  testing::Process before(count_files);
  EXPECT_EQ(before.Wait(), 0);
  auto monitor = Monitor::Start(TestOptions());
  auto loop = monitor.WatchLoop("ui");
  FreezeUntilReported(loop, "before exec");
  testing::Process child(count_files);
  EXPECT_EQ(child.Wait(), 0);
  EXPECT_EQ(child.Output(), before.Output());
}

TEST_F(SdkTest, LeaksNoFileNorThreadOverManyStarts) {
  auto start_and_stop = [&] {
    auto monitor = Monitor::Start(TestOptions());
    EXPECT_TRUE(monitor.is_on());
  };
  start_and_stop();
  std::set<int> files = OpenFiles();
  for (int i = 0; i < 20; ++i) start_and_stop();
  EXPECT_EQ(OpenFiles(), files);
}

TEST_F(SdkTest, ACallerWithAShorterStructGetsWhatFits) {
  Monitor::Start(TestOptions()).Stop();
  auto monitor = Monitor::Start(TestOptions());
  lw_last_exit last_exit;
  lw_last_exit_init(&last_exit);
  last_exit.struct_size_bytes = offsetof(lw_last_exit, loop);
  std::memset(last_exit.loop, 'x', sizeof last_exit.loop);
  EXPECT_EQ(lw_get_last_exit(&last_exit), 1);
  EXPECT_EQ(last_exit.reason, LW_EXIT_CLEAN);
  EXPECT_EQ(last_exit.struct_size_bytes, offsetof(lw_last_exit, loop));
  EXPECT_EQ(last_exit.loop[0], 'x');
}

TEST_F(SdkTest, FeedsTheServiceManagerOnlyWhenTold) {
  testing::ServiceManager manager(directory_ / "notify");
  setenv("NOTIFY_SOCKET", (directory_ / "notify").c_str(), 1);
  setenv("WATCHDOG_USEC", "60000", 1);
  setenv("WATCHDOG_PID", std::to_string(getpid()).c_str(), 1);
  Options options = TestOptions();
  {
    auto monitor = Monitor::Start(options);
    FreezeUntilReported(monitor.WatchLoop("ui"), "freeze");
    EXPECT_EQ(monitor.stats().service_feeds, 0u);
    EXPECT_EQ(manager.Receive(), "");
  }
  options.process.feed_systemd = true;
  auto monitor = Monitor::Start(options);
  EXPECT_TRUE(WaitUntil([&] { return manager.Receive() == "WATCHDOG=1"; }));
  EXPECT_TRUE(WaitUntil([&] { return manager.Receive() == "WATCHDOG=1"; }));
  EXPECT_EQ(manager.sender_pid(), getpid());
  EXPECT_GE(monitor.stats().service_feeds, 2u);
  monitor.Stop();
  while (!manager.Receive().empty()) {
  }
  std::this_thread::sleep_for(std::chrono::milliseconds(200));
  EXPECT_EQ(manager.Receive(), "");
}

}  // namespace
}  // namespace lagwatch
