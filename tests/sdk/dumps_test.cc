// SPDX-License-Identifier: Apache-2.0
// Dumps on demand: by a call, by a signal.
#include <gtest/gtest.h>
#include <lagwatch/lagwatch.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <thread>
#include <vector>

#include "report/format/report.h"
#include "tests/sdk/sdk_testing.h"
#include "tests/testing/process.h"
#include "tests/testing/stalls.h"

namespace lagwatch {
namespace {

using testing::WaitUntil;

TEST_F(SdkTest, MakesADumpOnDemandAndNotASecondOneSoon) {
  EXPECT_EQ(lw_dump_now("off"), 0);
  Options options = TestOptions();
  options.threshold_ms = 3'600'000;
  auto monitor = Monitor::Start(options);
  monitor.WatchLoop("ui");
  // A watchdog that sleeps for good is woken.
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  std::thread([&] { EXPECT_TRUE(monitor.DumpNow("menu: help")); }).join();
  EXPECT_FALSE(monitor.DumpNow("too soon"));
  ASSERT_TRUE(WaitUntil([&] { return !Reports().empty(); }));
  report::Report dump = Reports()[0];
  EXPECT_EQ(dump.kind, report::HangKind::kDump);
  EXPECT_EQ(dump.tag, "menu: help");
  EXPECT_EQ(dump.loop, "ui");
  EXPECT_EQ(dump.tid, static_cast<uint32_t>(gettid()));
  EXPECT_EQ(dump.samples.size(), 1u);
  EXPECT_GE(dump.stacks[dump.expensive_stack].frames.size(), 1u);
  ASSERT_GE(dump.threads.size(), 1u);
  EXPECT_EQ(dump.threads[0].tid, static_cast<uint32_t>(gettid()));
  EXPECT_EQ(FactOf(dump, "dump_signal"), -1);
  lw_stats stats = monitor.stats();
  EXPECT_EQ(stats.dumps, 1u);
  EXPECT_EQ(stats.reports_written, 1u);
  EXPECT_EQ(stats.dumps_refused, 1u);
  EXPECT_EQ(stats.hangs, 0u);
  monitor.Stop();
  EXPECT_EQ(lw_dump_now("off again"), 0);
  EXPECT_EQ(Reports().size(), 1u);
}

TEST_F(SdkTest, MakesDumpsWithoutALoopAndDuringAHang) {
  Options options = TestOptions();
  options.dump.interval_ms = 0;
  auto monitor = Monitor::Start(options);
  auto dumps = [&] {
    std::vector<report::Report> found = Reports();
    std::erase_if(found, [](const report::Report& report) { return report.kind != report::HangKind::kDump; });
    return found;
  };
  EXPECT_TRUE(monitor.DumpNow(nullptr));
  ASSERT_TRUE(WaitUntil([&] { return dumps().size() == 1; }));
  EXPECT_EQ(dumps()[0].tid, static_cast<uint32_t>(getpid()));
  EXPECT_EQ(dumps()[0].loop, "");

  monitor.WatchLoop("idle");
  testing::StopFlag stop{false};
  std::atomic<int> hanging_tid{0};
  std::thread hanging([&] {
    auto loop = monitor.WatchLoop("lagging");
    hanging_tid = gettid();
    ScopedDispatch dispatch(loop, "spin");
    testing::Spin(stop);
  });
  EXPECT_TRUE(WaitUntil([&] { return monitor.stats().hangs == 1; }));
  // A request is taken once the one before is made.
  EXPECT_TRUE(WaitUntil([&] { return monitor.DumpNow("why?"); }));
  EXPECT_TRUE(WaitUntil([&] { return dumps().size() == 2; }));
  stop = true;
  hanging.join();
  ASSERT_EQ(dumps().size(), 2u);
  report::Report dump = dumps()[1];
  EXPECT_EQ(dump.loop, "lagging");
  EXPECT_EQ(dump.tid, static_cast<uint32_t>(hanging_tid.load()));
  EXPECT_GE(dump.threads.size(), 2u);
  EXPECT_TRUE(WaitUntil([&] { return !Ends().empty(); }));
  for (const report::HangEnd& end : Ends()) EXPECT_NE(end.report_id, dump.id);
}

std::atomic<int> g_own_signals{0};

TEST_F(SdkTest, MakesADumpWhenASignalAsksAndCallsTheProgramsHandler) {
  struct sigaction own {};
  own.sa_handler = [](int) { ++g_own_signals; };
  sigaction(SIGUSR2, &own, nullptr);
  Options options = TestOptions();
  options.dump.signal = SIGUSR2;
  auto monitor = Monitor::Start(options);
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  kill(getpid(), SIGUSR2);
  ASSERT_TRUE(WaitUntil([&] { return !Reports().empty(); }));
  EXPECT_EQ(Reports()[0].kind, report::HangKind::kDump);
  EXPECT_EQ(Reports()[0].tag, "signal");
  EXPECT_EQ(FactOf(Reports()[0], "dump_signal"), SIGUSR2);
  EXPECT_TRUE(WaitUntil([&] { return g_own_signals.load() == 1; }));
  kill(getpid(), SIGUSR2);
  EXPECT_TRUE(WaitUntil([&] { return g_own_signals.load() == 2; }));
  EXPECT_EQ(monitor.stats().dumps_refused, 1u);
  monitor.Stop();
  struct sigaction after {};
  sigaction(SIGUSR2, nullptr, &after);
  EXPECT_EQ(after.sa_handler, own.sa_handler);
}

TEST_F(SdkTest, SharesOneSignalBetweenDumpsAndCaptures) {
  Options options = TestOptions();
  options.dump.signal = options.process.capture_signal = SIGUSR2;
  auto monitor = Monitor::Start(options);
  ASSERT_TRUE(monitor.is_on()) << monitor.why_off();
  kill(getpid(), SIGUSR2);
  ASSERT_TRUE(WaitUntil([&] { return monitor.stats().dumps == 1; }));
  FreezeUntilReported(monitor.WatchLoop("ui"), "freeze");
  EXPECT_GE(monitor.stats().capture_signals_sent, 1u);
  EXPECT_GT(monitor.stats().capture_pause_ns, 0u);
  EXPECT_EQ(monitor.stats().dumps, 1u);
  EXPECT_EQ(monitor.stats().dumps_refused, 0u);
}

TEST_F(SdkTest, TakesNoSignalForDumpsThatAProgramMustNotJustGoOnAfter) {
  for (int signal_number : {SIGSEGV, SIGABRT, SIGKILL, 4711, -1}) {
    struct sigaction before {};
    const bool is_signal = sigaction(signal_number, nullptr, &before) == 0;
    Options options = TestOptions();
    options.dump.signal = signal_number;
    auto monitor = Monitor::Start(options);
    EXPECT_TRUE(monitor.is_on()) << signal_number;
    struct sigaction now {};
    if (!is_signal) continue;
    sigaction(signal_number, nullptr, &now);
    EXPECT_EQ(now.sa_handler, before.sa_handler) << signal_number;
  }
}

TEST_F(SdkTest, LeavesTheDumpSignalToAForkedChild) {
  Options options = TestOptions();
  options.dump.signal = SIGUSR2;
  auto monitor = Monitor::Start(options);
  pid_t child = fork();
  if (child == 0) {
    struct sigaction now {};
    sigaction(SIGUSR2, nullptr, &now);
    _exit(now.sa_handler == SIG_DFL && lw_dump_now("child") == 0 ? 0 : 1);
  }
  int status = -1;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  EXPECT_TRUE(monitor.DumpNow("parent"));
  EXPECT_TRUE(WaitUntil([&] { return Reports().size() == 1; }));
}

// A handler on top of ours, which calls ours as it should.
struct sigaction g_under_the_top {};
std::atomic<int> g_top_signals{0};

TEST_F(SdkTest, LivesWithAHandlerOnTopOfItsDumpSignal) {
  Options options = TestOptions();
  options.dump.signal = SIGUSR2;
  options.dump.interval_ms = 0;
  auto monitor = Monitor::Start(options);
  struct sigaction top {};
  top.sa_flags = SA_SIGINFO;
  top.sa_sigaction = [](int number, siginfo_t* info, void* context) {
    ++g_top_signals;
    if ((g_under_the_top.sa_flags & SA_SIGINFO) != 0) g_under_the_top.sa_sigaction(number, info, context);
  };
  sigaction(SIGUSR2, &top, &g_under_the_top);
  kill(getpid(), SIGUSR2);
  EXPECT_TRUE(WaitUntil([&] { return Reports().size() == 1; }));
  monitor.Stop();
  kill(getpid(), SIGUSR2);
  EXPECT_TRUE(WaitUntil([&] { return g_top_signals.load() == 2; }));
  monitor = Monitor::Start(options);
  kill(getpid(), SIGUSR2);
  EXPECT_TRUE(WaitUntil([&] { return g_top_signals.load() == 3; }));
  EXPECT_TRUE(WaitUntil([&] { return Reports().size() == 2; }));
  EXPECT_EQ(Reports().size(), 2u);
}

TEST_F(SdkTest, MakesADumpThatWasPromisedBeforeItStops) {
  auto monitor = Monitor::Start(TestOptions());
  EXPECT_TRUE(monitor.DumpNow("fatal"));
  monitor.Stop(0);
  ASSERT_EQ(Reports().size(), 1u);
  EXPECT_EQ(Reports()[0].tag, "fatal");
  lw_stats stats;
  lw_stats_init(&stats);
  lw_get_stats(&stats);
  EXPECT_EQ(stats.dumps, 1u);
  EXPECT_GT(stats.watchdog_cpu_ns, 0u);
}

}  // namespace
}  // namespace lagwatch
