// SPDX-License-Identifier: Apache-2.0
// The public interface of the shared library, as a program uses it. Each test runs in a process of its own
// (ctest starts one for each), because there is one monitor in a process.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <lagwatch/lagwatch.h>
#include <lagwatch/queue_ping.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <cstddef>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/env.h"
#include "report/format/report.h"
#include "report/spool/spool_reader.h"
#include "tests/testing/process.h"
#include "tests/testing/service_manager.h"
#include "tests/testing/stalls.h"
#include "tests/testing/temp_directory.h"

extern "C" int RunCTest(const char* spool_directory);

namespace lagwatch {
namespace {

using report::RecordType;
using testing::ScopedTempDirectory;
using testing::WaitUntil;

class SdkTest : public ::testing::Test {
 protected:
  Options TestOptions() const {
    return {.app = "sdk-test",
            .app_version = "1.2.3",
            .user = "u-1",
            .spool_directory = directory_ / "spool",
            .threshold_ms = 100,
            .check_period_ms = 50,
            .sample_interval_ms = 10};
  }

  std::vector<report::SpoolRecord> ReadSpool() const {
    report::SpoolReader reader(&base::SystemEnv(), directory_ / "spool");
    std::vector<report::SpoolRecord> records;
    auto names = reader.List(report::SpoolReader::Include::kLiveToo);
    if (!names.ok()) return records;
    for (const std::string& name : *names) {
      auto segment = reader.Read(name);
      if (!segment.ok()) continue;
      EXPECT_EQ(segment->skipped_bytes, 0u);
      for (report::SpoolRecord& record : segment->records) records.push_back(std::move(record));
    }
    return records;
  }
  std::vector<report::Report> Reports() const {
    std::vector<report::Report> reports;
    for (const report::SpoolRecord& record : ReadSpool()) {
      if (record.type != RecordType::kReport) continue;
      auto decoded = report::DecodeReport(record.payload);
      EXPECT_TRUE(decoded.ok()) << decoded.status().message();
      if (decoded.ok()) reports.push_back(std::move(decoded).value());
    }
    return reports;
  }
  std::vector<report::LagEnd> Ends() const {
    std::vector<report::LagEnd> ends;
    for (const report::SpoolRecord& record : ReadSpool()) {
      if (record.type == RecordType::kLagEnd) ends.push_back(report::DecodeLagEnd(record.payload).value());
    }
    return ends;
  }
  static std::string TextFactOf(const report::Report& report, const std::string& name) {
    for (const report::Fact& fact : report.facts) {
      if (fact.name == name) return fact.text;
    }
    return "";
  }
  // -1 when there is none.
  static int64_t FactOf(const report::Report& report, const std::string& name) {
    for (const report::Fact& fact : report.facts) {
      if (fact.name == name) return fact.number;
    }
    return -1;
  }
  std::vector<report::Usage> Usages() const {
    std::vector<report::Usage> usages;
    for (const report::SpoolRecord& record : ReadSpool()) {
      if (record.type == RecordType::kUsage) usages.push_back(report::DecodeUsage(record.payload).value());
    }
    return usages;
  }
  // One dispatch that spins until its report is on disk.
  void FreezeUntilReported(Loop loop, const char* tag) {
    size_t before = Reports().size();
    ScopedDispatch dispatch(loop, tag);
    testing::StopFlag stop{false};
    std::thread judge([&] {
      EXPECT_TRUE(WaitUntil([&] { return Reports().size() > before; }));
      stop = true;
    });
    testing::Spin(stop);
    judge.join();
  }

  ScopedTempDirectory directory_;
};

TEST_F(SdkTest, WorksFromC) { EXPECT_EQ(RunCTest((directory_ / "spool").c_str()), 0); }

TEST_F(SdkTest, PutsALagOnDiskWhileItLastsAndItsEndAfterwards) {
  auto monitor = Monitor::Start(TestOptions());
  ASSERT_TRUE(monitor.is_on()) << monitor.why_off();
  auto loop = monitor.WatchLoop("ui");
  FreezeUntilReported(loop, "freeze");
  ASSERT_TRUE(WaitUntil([&] { return Ends().size() >= Reports().size(); }));

  report::Report lag = Reports()[0];
  EXPECT_EQ(lag.app, "sdk-test");
  EXPECT_EQ(lag.app_version, "1.2.3");
  EXPECT_EQ(lag.user, "u-1");
  EXPECT_EQ(lag.loop, "ui");
  EXPECT_EQ(lag.tag, "freeze");
  EXPECT_EQ(lag.kind, report::Kind::kLag);
  EXPECT_EQ(lag.threshold_ms, 100u);
  EXPECT_EQ(lag.pid, static_cast<uint32_t>(getpid()));
  EXPECT_EQ(lag.tid, static_cast<uint32_t>(gettid()));
  EXPECT_FALSE(lag.os.empty());
  EXPECT_FALSE(lag.machine.empty());
  EXPECT_GE(lag.elapsed_ns, 100u * 1'000'000);
  EXPECT_GE(lag.samples.size(), 1u);
  EXPECT_GE(lag.threads.size(), 2u);
  EXPECT_GE(lag.modules.size(), 1u);
  EXPECT_FALSE(lag.modules[0].build_id.empty());
  EXPECT_GE(lag.stacks[lag.expensive_stack].frames.size(), 3u);
  EXPECT_LE(lag.stacks.size(), lag.samples.size() + lag.threads.size() + 1);
  EXPECT_EQ(Ends()[0].report_id, lag.id);
  EXPECT_GE(Ends()[0].duration_ns, lag.elapsed_ns);

  lw_stats stats = monitor.stats();
  EXPECT_GE(stats.lags, 1u);
  EXPECT_GE(stats.reports_written, 1u);
  EXPECT_EQ(stats.reports_dropped, 0u);
  EXPECT_GE(stats.stack_samples, lag.samples.size());
}

TEST_F(SdkTest, HasTheDiskTakeALagAtOnceUnlessToldNotTo) {
  {
    auto monitor = Monitor::Start(TestOptions());
    const uint64_t before = monitor.stats().spool_syncs;
    FreezeUntilReported(monitor.WatchLoop("ui"), "freeze");
    EXPECT_TRUE(WaitUntil([&] { return monitor.stats().spool_syncs > before; }));
    EXPECT_EQ(monitor.stats().spool_syncs_failed, 0u);
  }
  Options options = TestOptions();
  options.spool_sync = LW_SPOOL_SYNC_NEVER;
  auto monitor = Monitor::Start(options);
  const uint64_t before = monitor.stats().spool_syncs;
  FreezeUntilReported(monitor.WatchLoop("ui"), "freeze");
  ASSERT_TRUE(WaitUntil([&] { return Ends().size() >= Reports().size(); }));
  for (const auto& thread : std::filesystem::directory_iterator("/proc/self/task")) {
    std::string name;
    std::getline(std::ifstream(thread.path() / "comm"), name);
    EXPECT_NE(name, "lagwatch-sync");
  }
  EXPECT_EQ(monitor.stats().spool_syncs, before);
}

TEST_F(SdkTest, StaysOffInADirectoryThatOthersCanChange) {
  std::filesystem::create_directory(directory_ / "spool");
  chmod((directory_ / "spool").c_str(), 0777);
  auto monitor = Monitor::Start(TestOptions());
  EXPECT_FALSE(monitor.is_on());
  EXPECT_NE(std::string(monitor.why_off()).find("chmod go-w"), std::string::npos) << monitor.why_off();
  EXPECT_TRUE(std::filesystem::is_empty(directory_ / "spool"));
}

TEST_F(SdkTest, TimesDispatchesWithoutAClockToo) {
  auto monitor = Monitor::Start(TestOptions());
  auto loop = monitor.WatchLoop("ui");
  lw_dispatch_begin_counted(loop.handle(), "counted");
  EXPECT_TRUE(WaitUntil([&] { return !Reports().empty(); }));
  lw_dispatch_end_counted(loop.handle());
  EXPECT_EQ(Reports()[0].tag, "counted");
  EXPECT_TRUE(WaitUntil([&] { return !Ends().empty(); }));
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
  options.check_period_ms = 0;
  options.sample_interval_ms = UINT32_MAX;
  options.ring_size = UINT32_MAX;
  auto monitor = Monitor::Start(options);
  ASSERT_TRUE(monitor.is_on());
  auto loop = monitor.WatchLoop("ui");
  FreezeUntilReported(loop, "short");
  EXPECT_EQ(Reports()[0].threshold_ms, 16u);
}

TEST_F(SdkTest, RaisesALagOverTheLoopsSecondThresholdToAnAnr) {
  auto monitor = Monitor::Start(TestOptions());
  auto loop = monitor.WatchLoop("ui");
  lw_thresholds in_force = loop.SetThresholds(5, 200);
  EXPECT_EQ(in_force.threshold_ms, 16u);
  EXPECT_EQ(in_force.anr_threshold_ms, 200u);
  loop.SetWeight(3);
  auto last_level = [&] { return Reports().empty() ? report::Level::kLag : Reports().back().level; };
  {
    ScopedDispatch dispatch(loop, "long");
    EXPECT_TRUE(WaitUntil([&] { return last_level() == report::Level::kAnr; }));
  }
  report::Report anr = Reports().back();
  EXPECT_EQ(anr.lag_id, Reports()[0].id);
  EXPECT_EQ(anr.threshold_ms, 16u);
  EXPECT_EQ(Reports()[0].level, report::Level::kLag);
  EXPECT_EQ(FactOf(anr, "loop_weight"), 3);
}

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
  EXPECT_EQ(dump.kind, report::Kind::kDump);
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
  EXPECT_EQ(stats.lags, 0u);
  monitor.Stop();
  EXPECT_EQ(lw_dump_now("off again"), 0);
  EXPECT_EQ(Reports().size(), 1u);
}

TEST_F(SdkTest, MakesDumpsWithoutALoopAndDuringALag) {
  Options options = TestOptions();
  options.dump_interval_ms = 0;
  auto monitor = Monitor::Start(options);
  auto dumps = [&] {
    std::vector<report::Report> found = Reports();
    std::erase_if(found, [](const report::Report& report) { return report.kind != report::Kind::kDump; });
    return found;
  };
  EXPECT_TRUE(monitor.DumpNow(nullptr));
  ASSERT_TRUE(WaitUntil([&] { return dumps().size() == 1; }));
  EXPECT_EQ(dumps()[0].tid, static_cast<uint32_t>(getpid()));
  EXPECT_EQ(dumps()[0].loop, "");

  monitor.WatchLoop("idle");
  testing::StopFlag stop{false};
  std::atomic<int> lagging_tid{0};
  std::thread lagging([&] {
    auto loop = monitor.WatchLoop("lagging");
    lagging_tid = gettid();
    ScopedDispatch dispatch(loop, "spin");
    testing::Spin(stop);
  });
  EXPECT_TRUE(WaitUntil([&] { return monitor.stats().lags == 1; }));
  // A request is taken once the one before is made.
  EXPECT_TRUE(WaitUntil([&] { return monitor.DumpNow("why?"); }));
  EXPECT_TRUE(WaitUntil([&] { return dumps().size() == 2; }));
  stop = true;
  lagging.join();
  ASSERT_EQ(dumps().size(), 2u);
  report::Report dump = dumps()[1];
  EXPECT_EQ(dump.loop, "lagging");
  EXPECT_EQ(dump.tid, static_cast<uint32_t>(lagging_tid.load()));
  EXPECT_GE(dump.threads.size(), 2u);
  EXPECT_TRUE(WaitUntil([&] { return !Ends().empty(); }));
  for (const report::LagEnd& end : Ends()) EXPECT_NE(end.report_id, dump.id);
}

std::atomic<int> g_own_signals{0};

TEST_F(SdkTest, MakesADumpWhenASignalAsksAndCallsTheProgramsHandler) {
  struct sigaction own {};
  own.sa_handler = [](int) { ++g_own_signals; };
  sigaction(SIGUSR2, &own, nullptr);
  Options options = TestOptions();
  options.dump_signal = SIGUSR2;
  auto monitor = Monitor::Start(options);
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  kill(getpid(), SIGUSR2);
  ASSERT_TRUE(WaitUntil([&] { return !Reports().empty(); }));
  EXPECT_EQ(Reports()[0].kind, report::Kind::kDump);
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
  options.dump_signal = options.capture_signal = SIGUSR2;
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
    options.dump_signal = signal_number;
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
  options.dump_signal = SIGUSR2;
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
  options.dump_signal = SIGUSR2;
  options.dump_interval_ms = 0;
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

TEST_F(SdkTest, ReportsTellOfTheProcessTheMachineAndTheWatchdogItself) {
  auto monitor = Monitor::Start(TestOptions());
  auto loop = monitor.WatchLoop("ui");
  std::vector<int> files;
  for (int i = 0; i < 100; ++i) files.push_back(open("/dev/null", O_RDONLY | O_CLOEXEC));
  FreezeUntilReported(loop, "freeze");
  for (int fd : files) close(fd);
  report::Report lag = Reports()[0];
  EXPECT_GE(FactOf(lag, "open_fds"), 100);
  EXPECT_LT(FactOf(lag, "open_fds"), 1000);
  EXPECT_GE(FactOf(lag, "threads"), 3);  // this one, the judge, the watchdog
  EXPECT_GT(FactOf(lag, "rss_bytes"), 1 << 20);
  EXPECT_GE(FactOf(lag, "load_1min_permille"), 0);
  EXPECT_GT(FactOf(lag, "watchdog_cpu_us"), 0);
  EXPECT_GE(FactOf(lag, "capture_signals"), 1);
  EXPECT_GT(FactOf(lag, "capture_pause_us"), 0);
  EXPECT_EQ(FactOf(lag, "handler_lost"), -1);
  lw_stats stats = monitor.stats();
  EXPECT_GE(stats.watchdog_cpu_ns, static_cast<uint64_t>(FactOf(lag, "watchdog_cpu_us")) * 1000);
  EXPECT_GE(stats.capture_pause_ns, static_cast<uint64_t>(FactOf(lag, "capture_pause_us")) * 1000);
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
  options.feed_systemd = true;
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

TEST_F(SdkTest, GoesOnCapturingWhenTheProgramTakesTheSignal) {
  Options options = TestOptions();
  options.capture_signal = SIGUSR2;
  auto monitor = Monitor::Start(options);
  auto loop = monitor.WatchLoop("ui");
  FreezeUntilReported(loop, "before");
  EXPECT_TRUE(WaitUntil([&] { return !Ends().empty(); }));  // nobody is captured just now
  g_own_signals = 0;
  struct sigaction own {};
  own.sa_handler = [](int) { ++g_own_signals; };
  sigaction(SIGUSR2, &own, nullptr);
  FreezeUntilReported(loop, "after");
  EXPECT_EQ(g_own_signals, 0);
  raise(SIGUSR2);
  EXPECT_TRUE(WaitUntil([] { return g_own_signals.load() == 1; }));
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

TEST_F(SdkTest, KnowsNoAnrWhenThatIsOff) {
  Options options = TestOptions();
  options.anr_threshold_ms = 0;
  auto monitor = Monitor::Start(options);
  auto loop = monitor.WatchLoop("ui");
  {
    ScopedDispatch dispatch(loop, "long");
    std::this_thread::sleep_for(std::chrono::milliseconds(400));
  }
  EXPECT_TRUE(WaitUntil([&] { return !Ends().empty(); }));
  for (const report::Report& report : Reports()) EXPECT_EQ(report.level, report::Level::kLag);
}

TEST_F(SdkTest, ReportsALoopThatIsBusyWithoutAPause) {
  auto monitor = Monitor::Start(TestOptions());
  std::atomic<bool> is_reported{false};
  std::thread thread([&] {
    auto loop = monitor.WatchLoop("busy");
    while (!is_reported.load()) ScopedDispatch dispatch(loop, "short");
  });
  EXPECT_TRUE(WaitUntil([&] { return !Reports().empty(); }));
  is_reported = true;
  thread.join();
  EXPECT_EQ(Reports()[0].kind, report::Kind::kBusyLoop);
  EXPECT_GE(Reports()[0].elapsed_ns, 100u * 1'000'000);
}

TEST_F(SdkTest, ReportsATaskThatWaitsInTheQueue) {
  auto monitor = Monitor::Start(TestOptions());
  auto loop = monitor.WatchLoop("ui");
  loop.NoteQueued();
  EXPECT_TRUE(WaitUntil([&] { return !Reports().empty(); }));
  loop.NoteRun();
  EXPECT_TRUE(WaitUntil([&] { return Ends().size() == Reports().size(); }));
  EXPECT_EQ(Reports()[0].kind, report::Kind::kWaited);
  EXPECT_GE(Reports()[0].elapsed_ns, 100u * 1'000'000);
}

// An executor that runs what was posted when it is told to.
class LazyExecutor {
 public:
  void Post(std::function<void()> task) {
    std::lock_guard lock(mutex_);
    tasks_.push_back(std::move(task));
  }
  size_t RunAll() {
    std::lock_guard lock(mutex_);
    for (auto& task : tasks_) task();
    return std::exchange(tasks_, {}).size();
  }
  size_t DropAll() {
    std::lock_guard lock(mutex_);
    return std::exchange(tasks_, {}).size();
  }

 private:
  std::mutex mutex_;
  std::vector<std::function<void()>> tasks_;
};

TEST_F(SdkTest, PingsAnExecutorAndReportsAPingThatWaits) {
  auto monitor = Monitor::Start(TestOptions());
  auto loop = monitor.WatchLoop("executor");
  LazyExecutor executor;
  QueuePing ping(
      loop, [&](std::function<void()> task) { executor.Post(std::move(task)); },
      std::chrono::milliseconds(5));
  size_t pings = 0;
  EXPECT_TRUE(WaitUntil([&] { return (pings += executor.RunAll()) >= 5; }));
  EXPECT_TRUE(WaitUntil([&] { return !Reports().empty(); }));
  EXPECT_EQ(Reports()[0].kind, report::Kind::kWaited);
  EXPECT_EQ(executor.DropAll(), 1u);
  EXPECT_TRUE(WaitUntil([&] { return executor.RunAll() + Ends().size() > 0 && !Ends().empty(); }));
}

TEST_F(SdkTest, SurvivesAnExecutorThatRefusesPings) {
  auto monitor = Monitor::Start(TestOptions());
  auto loop = monitor.WatchLoop("executor");
  std::atomic<int> refused{0};
  QueuePing ping(
      loop,
      [&](std::function<void()>) {
        ++refused;
        throw 1;
      },
      std::chrono::milliseconds(5));
  EXPECT_TRUE(WaitUntil([&] { return refused.load() > 3; }));
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  EXPECT_TRUE(Reports().empty());
}

TEST_F(SdkTest, ReportsAScopeAnIdleHandlerAndAnInputEvent) {
  Options options = TestOptions();
  options.threshold_ms = 3'600'000;
  options.idle_handler_threshold_ms = 60;
  options.input_threshold_ms = 60;
  auto monitor = Monitor::Start(options);
  auto loop = monitor.WatchLoop("ui");
  auto wait_for_kind = [&](size_t count, report::Kind kind) {
    EXPECT_TRUE(WaitUntil([&] { return Reports().size() == count; }));
    EXPECT_EQ(Reports().back().kind, kind);
    EXPECT_EQ(Reports().back().threshold_ms, 60u);
  };
  {
    ScopedDeadline scope(loop, "load", 60);
    wait_for_kind(1, report::Kind::kScope);
    EXPECT_EQ(Reports()[0].tag, "load");
  }
  {
    ScopedIdleHandler idle(loop);
    wait_for_kind(2, report::Kind::kIdleHandler);
  }
  loop.InputReceived();
  wait_for_kind(3, report::Kind::kInput);
  loop.InputFinished();
  EXPECT_TRUE(WaitUntil([&] { return Ends().size() == 3; }));
}

TEST_F(SdkTest, ReportsASlowFrameAndCountsFramesByScene) {
  Options options = TestOptions();
  options.threshold_ms = 3'600'000;
  options.slow_frame_ms = 60;
  auto monitor = Monitor::Start(options);
  auto loop = monitor.WatchLoop("ui");
  loop.SetRefreshInterval(10'000'000);
  lw_set_scene("inbox");
  {
    ScopedFrame frame(loop);
    frame.Stage(LW_STAGE_LAYOUT);
    EXPECT_TRUE(WaitUntil([&] { return !Reports().empty(); }));
    frame.Stage(static_cast<lw_stage>(77));
  }
  ASSERT_TRUE(WaitUntil([&] { return Ends().size() == 1; }));
  report::Report report = Reports()[0];
  EXPECT_EQ(report.kind, report::Kind::kFrames);
  EXPECT_EQ(report.threshold_ms, 60u);
  EXPECT_EQ(TextFactOf(report, "frame_stage"), "layout");
  EXPECT_EQ(FactOf(report, "refresh_interval_us"), 10'000);
  for (int i = 0; i < 2; ++i) ScopedFrame frame(loop);
  lw_set_scene("editor");
  for (int i = 0; i < 5; ++i) ScopedFrame frame(loop);
  monitor.Stop();

  std::vector<report::FrameSlice> slices;
  for (const report::SpoolRecord& record : ReadSpool()) {
    if (record.type == RecordType::kFrameSlice)
      slices.push_back(report::DecodeFrameSlice(record.payload).value());
  }
  ASSERT_EQ(slices.size(), 2u);
  EXPECT_EQ(slices[0].scene, "inbox");
  EXPECT_EQ(slices[0].loop, "ui");
  EXPECT_EQ(slices[0].app, "sdk-test");
  EXPECT_EQ(slices[0].app_version, "1.2.3");
  EXPECT_EQ(slices[0].user, "u-1");
  EXPECT_EQ(slices[0].session_id, report.session_id);
  EXPECT_EQ(slices[0].refresh_interval_ns, 10'000'000u);
  EXPECT_EQ(slices[0].frames.frames, 3u);
  EXPECT_GE(slices[0].frames.dropped, 6u);
  EXPECT_GE(slices[0].frames.by_stage_ns[LW_STAGE_LAYOUT], 60'000'000u);
  EXPECT_EQ(slices[1].scene, "editor");
  EXPECT_EQ(slices[1].frames.frames, 5u);
}

TEST_F(SdkTest, TellsWhatTheLoopDidBefore) {
  auto monitor = Monitor::Start(TestOptions());
  auto loop = monitor.WatchLoop("ui");
  FreezeUntilReported(loop, "first");
  EXPECT_TRUE(Reports()[0].history.empty());
  FreezeUntilReported(loop, "second");
  std::vector<report::PastDispatch> history = Reports().back().history;
  ASSERT_EQ(history.size(), 1u);
  EXPECT_EQ(history[0].tag, "first");
  EXPECT_GE(history[0].wall_ns, Reports()[0].elapsed_ns);
  EXPECT_GT(history[0].age_ns, 0u);
}

TEST_F(SdkTest, ReportsTooMuchCpuNowAndOnAverage) {
  Options options = TestOptions();
  options.watch_cpu = true;
  options.cpu_percent = 1;
  options.cpu_average_percent = 0;
  options.cpu_background_percent = 1;
  options.cpu_window_ms = 1000;
  lw_set_foreground(0);
  auto monitor = Monitor::Start(options);
  ASSERT_TRUE(monitor.is_on()) << monitor.why_off();
  testing::StalledThread spinner([](const testing::StopFlag& stop) { testing::Spin(stop); });
  auto of_kind = [&](report::Kind kind) {
    std::vector<report::Report> found;
    for (report::Report& report : Reports()) {
      if (report.kind == kind) found.push_back(std::move(report));
    }
    return found;
  };
  ASSERT_TRUE(WaitUntil(
      [&] { return !of_kind(report::Kind::kCpu).empty() && !of_kind(report::Kind::kCpuAverage).empty(); }));
  for (report::Kind kind : {report::Kind::kCpu, report::Kind::kCpuAverage}) {
    const report::Report report = of_kind(kind)[0];
    EXPECT_EQ(report.loop, "");
    EXPECT_EQ(report.elapsed_ns, 0u);
    EXPECT_GT(report.cpu_process_ns, 0u);
    EXPECT_EQ(report.tid, static_cast<uint32_t>(spinner.tid()));
    EXPECT_GE(report.threads.size(), 1u);
    EXPECT_GT(report.samples.at(0).use.cpu_ns, 0);
    std::set<std::string> facts;
    for (const report::Fact& fact : report.facts) facts.insert(fact.name);
    EXPECT_TRUE(facts.contains("busiest_1_name") && facts.contains("in_background"));
  }
  EXPECT_EQ(monitor.stats().lags, 0u);
  // A process that computes is not frozen.
  monitor.Stop();
  monitor = Monitor::Start(TestOptions());
  ASSERT_TRUE(monitor.last_exit().has_value());
  EXPECT_EQ(monitor.last_exit()->was_in_lag, 0);
  lw_set_foreground(1);
}

TEST_F(SdkTest, ReportsASlowStartWithItsMilestones) {
  Options options = TestOptions();
  options.start = LW_START_COLD;
  options.cold_start_ms = 16;
  options.threshold_ms = 3'600'000;
  auto monitor = Monitor::Start(options);
  auto loop = monitor.WatchLoop("ui");
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  { ScopedDispatch dispatch(loop, "first"); }
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  { ScopedFrame frame(loop); }
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  { ScopedDispatch dispatch(loop, "second"); }
  EXPECT_TRUE(Reports().empty());
  lw_ready();
  ASSERT_TRUE(WaitUntil([&] { return Ends().size() == 1; }));
  lw_ready();
  ASSERT_EQ(Reports().size(), 1u);
  report::Report start = Reports()[0];
  EXPECT_EQ(start.kind, report::Kind::kStartup);
  EXPECT_EQ(start.threshold_ms, 16u);
  EXPECT_EQ(start.app, "sdk-test");
  EXPECT_EQ(start.tag, "cold start");
  EXPECT_EQ(TextFactOf(start, "start"), "cold");
  EXPECT_EQ(FactOf(start, "lags_before_ready"), 0);
  int64_t dispatch_ms = FactOf(start, "first_dispatch_ms");
  int64_t frame_ms = FactOf(start, "first_frame_ms");
  int64_t ready_ms = FactOf(start, "ready_ms");
  EXPECT_GE(FactOf(start, "library_load_ms"), 0);
  EXPECT_GE(FactOf(start, "monitor_start_ms"), FactOf(start, "library_load_ms"));
  EXPECT_GE(dispatch_ms, FactOf(start, "monitor_start_ms") + 49);
  EXPECT_GE(frame_ms, dispatch_ms + 49);
  EXPECT_GE(ready_ms, frame_ms + 49);
  EXPECT_EQ(start.elapsed_ns / 1'000'000, static_cast<uint64_t>(ready_ms));
  EXPECT_EQ(Ends()[0].report_id, start.id);
  EXPECT_EQ(Ends()[0].duration_ns, start.elapsed_ns);

  // It is told once in a process.
  monitor.Stop();
  auto second = Monitor::Start(options);
  second.WatchLoop("other");
  lw_ready();
  second.Stop();
  EXPECT_EQ(Reports().size(), 1u);
}

TEST_F(SdkTest, AStartAfterTheSameBuildRanIsWarm) {
  Options options = TestOptions();
  Monitor::Start(options).Stop();
  options.start = LW_START_WATCHED;
  options.cold_start_ms = 3'600'000;
  options.warm_start_ms = 16;
  auto monitor = Monitor::Start(options);
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  lw_ready();
  ASSERT_TRUE(WaitUntil([&] { return Reports().size() == 1; }));
  EXPECT_EQ(TextFactOf(Reports()[0], "start"), "warm");
  EXPECT_EQ(FactOf(Reports()[0], "first_dispatch_ms"), -1);
}

TEST_F(SdkTest, AFirstStartIsCold) {
  Options options = TestOptions();
  options.start = LW_START_WATCHED;
  options.cold_start_ms = 3'600'000;
  options.warm_start_ms = 16;
  auto monitor = Monitor::Start(options);
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  lw_ready();
  monitor.Stop();
  EXPECT_TRUE(Reports().empty());
}

TEST_F(SdkTest, SaysNothingOfTheStartUnlessItIsAskedTo) {
  Options options = TestOptions();
  options.cold_start_ms = options.warm_start_ms = 16;
  auto monitor = Monitor::Start(options);
  auto loop = monitor.WatchLoop("ui");
  FreezeUntilReported(loop, "freeze");
  lw_ready();
  monitor.Stop();
  ASSERT_EQ(Reports().size(), 1u);
  EXPECT_EQ(Reports()[0].kind, report::Kind::kLag);
}

TEST_F(SdkTest, TellsApartALagBeforeTheProgramIsReady) {
  Options options = TestOptions();
  options.start = LW_START_COLD;
  options.cold_start_ms = 3'600'000;
  auto monitor = Monitor::Start(options);
  auto loop = monitor.WatchLoop("ui");
  FreezeUntilReported(loop, "load");
  EXPECT_EQ(Reports().back().kind, report::Kind::kStartupLag);
  {
    ScopedDeadline scope(loop, "open", 16);
    EXPECT_TRUE(WaitUntil([&] { return Reports().back().kind == report::Kind::kScope; }));
  }
  EXPECT_EQ(FactOf(Reports().back(), "before_ready"), 1);
  lw_ready();
  FreezeUntilReported(loop, "work");
  EXPECT_EQ(Reports().back().kind, report::Kind::kLag);
  EXPECT_EQ(FactOf(Reports().back(), "before_ready"), -1);
}

TEST_F(SdkTest, AWithdrawnStartLeavesNoReport) {
  Monitor::Start(TestOptions()).Stop();
  Options options = TestOptions();
  options.start = LW_START_COLD;
  options.cold_start_ms = 16;
  auto monitor = Monitor::Start(options);
  auto loop = monitor.WatchLoop("ui");
  FreezeUntilReported(loop, "load");
  ASSERT_TRUE(WaitUntil([&] { return !Ends().empty(); }));
  lw_withdraw_start();
  EXPECT_TRUE(Reports().empty());
  EXPECT_TRUE(Ends().empty());
  // What is told of the run before is not of this start.
  auto is_run_end = [](const report::SpoolRecord& record) { return record.type == RecordType::kRunEnd; };
  EXPECT_EQ(std::ranges::count_if(ReadSpool(), is_run_end), 1);
  lw_ready();
  FreezeUntilReported(loop, "work");
  lw_withdraw_start();
  monitor.Stop();
  ASSERT_EQ(Reports().size(), 1u);
  EXPECT_EQ(Reports()[0].kind, report::Kind::kLag);
}

TEST_F(SdkTest, AProgramThatIsReadyCannotWithdrawItsStart) {
  Options options = TestOptions();
  options.start = LW_START_COLD;
  options.cold_start_ms = 16;
  auto monitor = Monitor::Start(options);
  auto loop = monitor.WatchLoop("ui");
  FreezeUntilReported(loop, "load");
  lw_ready();
  ASSERT_TRUE(WaitUntil([&] { return Reports().size() == 2; }));
  EXPECT_EQ(FactOf(Reports()[1], "lags_before_ready"), 1);
  lw_withdraw_start();
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

TEST_F(SdkTest, ReportsWhatTheProgramSaysOfItself) {
  lw_set_scene("export");
  EXPECT_EQ(lw_set_value("document_kib", "17"), 1);
  EXPECT_EQ(lw_set_value("plugin", "spelling"), 1);
  EXPECT_EQ(lw_set_value("plugin", nullptr), 1);
  EXPECT_EQ(lw_set_value("", "no key"), 0);
  auto monitor = Monitor::Start(TestOptions());
  auto loop = monitor.WatchLoop("ui");
  FreezeUntilReported(loop, "freeze");
  EXPECT_EQ(TextFactOf(Reports()[0], "scene"), "export");
  EXPECT_EQ(TextFactOf(Reports()[0], "app.document_kib"), "17");
  EXPECT_EQ(TextFactOf(Reports()[0], "app.plugin"), "");
}

TEST_F(SdkTest, TellsAListenerOnTheWatchdogsThread) {
  struct Heard {
    std::atomic<int> begins{0};
    std::atomic<int> ends{0};
    std::atomic<int> filtered{0};
    std::atomic<int> tid{0};
    std::atomic<uint64_t> duration_ns{0};
  };
  static Heard heard;  // whatever happens to this test, it stays
  Options options = TestOptions();
  options.listener.context = &heard;
  options.listener.lag_begin = [](void* context, const lw_lag* lag) {
    EXPECT_STREQ(lag->loop, "ui");
    EXPECT_STREQ(lag->tag, "freeze");
    EXPECT_EQ(lag->kind, LW_KIND_LAG);
    EXPECT_EQ(lag->level, LW_LEVEL_LAG);
    static_cast<Heard*>(context)->tid = gettid();
    ++static_cast<Heard*>(context)->begins;
  };
  options.listener.lag_end = [](void* context, const lw_lag* lag) {
    static_cast<Heard*>(context)->duration_ns = lag->elapsed_ns;
    ++static_cast<Heard*>(context)->ends;
  };
  options.listener.lag_filtered = [](void* context, const lw_lag*, lw_filtered why) {
    EXPECT_EQ(why, LW_FILTERED_UNCHANGED_STACK);
    ++static_cast<Heard*>(context)->filtered;
  };
  auto monitor = Monitor::Start(options);
  auto loop = monitor.WatchLoop("ui");
  {
    ScopedDispatch dispatch(loop, "freeze");
    testing::StopFlag stop{false};
    std::thread judge([&] {
      EXPECT_TRUE(WaitUntil([&] { return heard.filtered.load() > 0; }));
      stop = true;
    });
    testing::Spin(stop);
    judge.join();
  }
  EXPECT_TRUE(WaitUntil([&] { return heard.ends.load() > 0; }));
  monitor.Stop();
  EXPECT_EQ(heard.begins.load(), 1);
  EXPECT_EQ(heard.ends.load(), 1);
  EXPECT_NE(heard.tid.load(), gettid());
  EXPECT_GE(heard.duration_ns.load(), 100u * 1'000'000);
}

TEST_F(SdkTest, StopsWhileAListenerAsksForTheCounts) {
  static std::atomic<bool> is_listening{false};
  static std::atomic<uint64_t> lags{0};
  Options options = TestOptions();
  options.listener.lag_begin = [](void*, const lw_lag*) {
    is_listening = true;
    EXPECT_TRUE(WaitUntil([] { return std::string_view(lw_why_off()) == "it is being stopped"; }));
    lw_stats stats;
    lw_stats_init(&stats);
    lw_get_stats(&stats);
    lags = stats.lags;
  };
  auto monitor = Monitor::Start(options);
  auto loop = monitor.WatchLoop("ui");
  lw_dispatch_begin(loop.handle(), "goes on");
  ASSERT_TRUE(WaitUntil([] { return is_listening.load(); }));
  monitor.Stop(0);
  lw_dispatch_end(loop.handle());
  EXPECT_EQ(lags.load(), 1u) << "the stop did not wait for its listener";
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
  for (int i = 0; i < 64; ++i) EXPECT_TRUE(monitor.WatchLoop("loop").is_watched());
  Loop refused = monitor.WatchLoop("one too many");
  EXPECT_FALSE(refused.is_watched());
  ScopedDispatch dispatch(refused, "harmless");
  EXPECT_EQ(monitor.stats().loops_refused, 1u);
}

// Runs `body` in a forked child; its result is the child's exit code.
[[maybe_unused]] int InForkedChild(const std::function<int()>& body) {
  pid_t child = fork();
  if (child == 0) _exit(body());
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
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
    return child_monitor.stats().lags >= 1 ? 0 : 5;
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
  options.sample_interval_ms = 1;
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

TEST_F(SdkTest, TellsHowTheLastRunEnded) {
  std::vector<lw_last_exit> told;
  Options options = TestOptions();
  options.on_last_exit = [](const lw_last_exit* last_exit, void* context) {
    // Any function may be called from here.
    lw_last_exit same;
    lw_last_exit_init(&same);
    EXPECT_EQ(lw_get_last_exit(&same), 1);
    EXPECT_STREQ(same.session_id, last_exit->session_id);
    static_cast<std::vector<lw_last_exit>*>(context)->push_back(*last_exit);
  };
  options.on_last_exit_context = &told;
  auto first = Monitor::Start(options);
  EXPECT_FALSE(first.last_exit().has_value());
  EXPECT_TRUE(told.empty());
  auto loop = first.WatchLoop("ui");
  FreezeUntilReported(loop, "makes a round with the scene");
  lw_set_scene("inbox");
  FreezeUntilReported(loop, "makes another");
  base::Uuid session = Reports()[0].session_id;
  first.Stop();

  options.app_version = "1.2.4";
  auto second = Monitor::Start(options);
  ASSERT_EQ(told.size(), 1u);
  EXPECT_EQ(told[0].reason, LW_EXIT_CLEAN);
  EXPECT_EQ(told[0].was_in_lag, 0);
  EXPECT_STREQ(told[0].scene, "inbox");
  EXPECT_STREQ(told[0].app_version, "1.2.3");
  EXPECT_EQ(told[0].session_id, base::ToString(session));
  EXPECT_STREQ(told[0].report_id, "");
  EXPECT_GT(told[0].last_seen_wall_ms, 0u);
  size_t run_ends = 0;
  for (const report::SpoolRecord& record : ReadSpool()) {
    if (record.type != RecordType::kRunEnd) continue;
    ++run_ends;
    EXPECT_EQ(report::DecodeRunEnd(record.payload)->session_id, session);
  }
  EXPECT_EQ(run_ends, 1u);
}

TEST_F(SdkTest, TellsWhatLoopsWereUsedForEvenWhenNothingLagged) {
  Options options = TestOptions();
  options.threshold_ms = 60'000;
  auto monitor = Monitor::Start(options);
  auto loop = monitor.WatchLoop("ui");
  for (int i = 0; i < 200; ++i) {
    ScopedDispatch dispatch(loop, "short");
    usleep(1000);
  }
  EXPECT_TRUE(Usages().empty());
  monitor.Stop();
  EXPECT_TRUE(Reports().empty());
  ASSERT_EQ(Usages().size(), 1u);
  const report::Usage usage = Usages()[0];
  EXPECT_EQ(usage.app, "sdk-test");
  EXPECT_EQ(usage.app_version, "1.2.3");
  EXPECT_EQ(usage.user, "u-1");
  EXPECT_GE(usage.end_wall_ms, usage.begin_wall_ms + 200 - 1);
  ASSERT_EQ(usage.loops.size(), 1u);
  EXPECT_EQ(usage.loops[0].loop, "ui");
  EXPECT_GE(usage.loops[0].usage.watched_ns, 150'000'000);
  EXPECT_GE(usage.loops[0].usage.dispatches, 150u);
  EXPECT_LE(usage.loops[0].usage.dispatches, 200u);
  EXPECT_EQ(usage.loops[0].usage.lags, 0u);
  lw_stats stats;
  lw_stats_init(&stats);
  lw_get_stats(&stats);
  EXPECT_EQ(stats.usage_records, 1u);
  // Nothing is left for the next start to tell.
  lw_unwatch_loop(loop.handle());
  Monitor::Start(options).Stop();
  EXPECT_EQ(Usages().size(), 1u);
}

TEST_F(SdkTest, TellsNothingOfUseWhenThatIsOff) {
  Options options = TestOptions();
  options.usage_period_s = 0;
  auto monitor = Monitor::Start(options);
  FreezeUntilReported(monitor.WatchLoop("ui"), "freeze");
  monitor.Stop();
  EXPECT_TRUE(Usages().empty());
}

TEST_F(SdkTest, TheNextStartTellsWhatAKilledRunWasUsedFor) {
  pid_t child = fork();
  if (child == 0) {
    auto monitor = Monitor::Start(TestOptions());
    auto loop = monitor.WatchLoop("ui");
    // The record has it after a second, at the latest at one and a quarter.
    for (int i = 0; i < 400; ++i) {
      ScopedDispatch dispatch(loop, "short");
      usleep(5000);
    }
    kill(getpid(), SIGKILL);
  }
  waitpid(child, nullptr, 0);
  EXPECT_TRUE(Usages().empty());
  auto monitor = Monitor::Start(TestOptions());
  ASSERT_EQ(Usages().size(), 1u);
  const report::Usage usage = Usages()[0];
  EXPECT_NE(usage.id, base::Uuid{});
  EXPECT_EQ(usage.app, "sdk-test");
  EXPECT_EQ(usage.user, "u-1");
  ASSERT_EQ(usage.loops.size(), 1u);
  EXPECT_EQ(usage.loops[0].loop, "ui");
  EXPECT_GE(usage.loops[0].usage.watched_ns, 1'000'000'000);
  EXPECT_GE(usage.loops[0].usage.dispatches, 10u);
  EXPECT_LE(usage.loops[0].usage.dispatches, 400u);
}

TEST_F(SdkTest, TellsAListenerOfLongDispatchesOnTheWatchdogsThread) {
  struct Heard {
    std::atomic<int> count{0};
    std::atomic<int> tid{0};
    std::atomic<uint64_t> duration_ns{0};
  };
  static Heard heard;  // whatever happens to this test, it stays
  Options options = TestOptions();
  options.threshold_ms = 60'000;
  options.sensitive_ms = 50;
  options.listener.context = &heard;
  options.listener.sensitive = [](void* context, const lw_lag* dispatch) {
    auto& told = *static_cast<Heard*>(context);
    if (std::string(dispatch->tag) != "long") return;
    EXPECT_STREQ(dispatch->loop, "ui");
    EXPECT_EQ(dispatch->kind, LW_KIND_LAG);
    EXPECT_EQ(dispatch->threshold_ns, 50u * 1'000'000);
    told.tid = gettid();
    told.duration_ns = dispatch->elapsed_ns;
    ++told.count;
  };
  auto monitor = Monitor::Start(options);
  auto loop = monitor.WatchLoop("ui");
  // Until the watchdog has looked and said what to note.
  EXPECT_TRUE(WaitUntil([&] {
    {
      ScopedDispatch dispatch(loop, "long");
      usleep(60'000);
    }
    ScopedDispatch next(loop, "wakes the watchdog");
    usleep(1000);
    return heard.count.load() > 0;
  }));
  monitor.Stop();
  EXPECT_NE(heard.tid.load(), gettid());
  EXPECT_GE(heard.duration_ns.load(), 59u * 1'000'000);
  EXPECT_TRUE(Reports().empty());
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

TEST_F(SdkTest, WorksWithoutARunRecordAndCountsThat) {
  base::SystemEnv().CreateDirectories(directory_ / "spool");
  int fd = open((directory_ / "spool/runs").c_str(), O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
  ASSERT_GE(fd, 0);
  close(fd);
  auto monitor = Monitor::Start(TestOptions());
  ASSERT_TRUE(monitor.is_on());
  EXPECT_EQ(monitor.stats().run_records_failed, 1u);
  lw_set_scene("inbox");
  lw_note_stop();
  lw_note_crash(11);
  auto loop = monitor.WatchLoop("ui");
  FreezeUntilReported(loop, "watched all the same");
}

#if !defined(__SANITIZE_THREAD__)
// The writes that a start makes on the program's own thread must not end it.
TEST_F(SdkTest, AFileSizeLimitOfTheProgramSendsItNoSignal) {
  Monitor::Start(TestOptions()).Stop();
  EXPECT_EQ(InForkedChild([&] {
              rlimit none{0, RLIM_INFINITY};
              getrlimit(RLIMIT_FSIZE, &none);
              none.rlim_cur = 0;
              if (setrlimit(RLIMIT_FSIZE, &none) != 0) return 1;
              auto monitor = Monitor::Start(TestOptions());
              if (!monitor.is_on() || monitor.stats().run_records_failed != 1) return 2;
              sigset_t pending;
              sigpending(&pending);
              return sigismember(&pending, SIGXFSZ) ? 3 : 0;
            }),
            0);
}
#endif

TEST_F(SdkTest, RunsThatEndWellDoNotFillASpoolThatNobodySends) {
  for (int i = 0; i < 80; ++i) {
    auto monitor = Monitor::Start(TestOptions());
    auto loop = monitor.WatchLoop("ui");
    usleep(20'000);  // long enough for a use to tell
    lw_unwatch_loop(loop.handle());
  }
  report::SpoolReader reader(&base::SystemEnv(), directory_ / "spool");
  const size_t segments = reader.List(report::SpoolReader::Include::kFinished)->size();
  EXPECT_GE(segments, 64u);
  EXPECT_LE(segments, 65u);  // a run's beginning and its end
}

TEST_F(SdkTest, KeepsReportsWhenTheEndpointIsNoUrl) {
  Options options = TestOptions();
  options.endpoint = "not a url";
  auto monitor = Monitor::Start(options);
  EXPECT_TRUE(monitor.is_on());
  auto loop = monitor.WatchLoop("ui");
  FreezeUntilReported(loop, "kept");
}

// A program that sends by itself, and what it was given to send.
class OwnTransport {
 public:
  lw_transport ToC() { return {.context = this, .post = &Post}; }
  size_t batches() {
    std::lock_guard lock(mutex_);
    return batches_.size();
  }

 private:
  static int Post(void* self, const void* body, size_t size_bytes, char* answer, size_t* answer_size_bytes) {
    auto* own = static_cast<OwnTransport*>(self);
    std::lock_guard lock(own->mutex_);
    own->batches_.emplace_back(static_cast<const char*>(body), size_bytes);
    EXPECT_GE(*answer_size_bytes, 1024u);
    answer[0] = '?';
    *answer_size_bytes = 0;
    return 202;
  }

  std::mutex mutex_;
  std::vector<std::string> batches_;
};

TEST_F(SdkTest, TheProgramSendsWhatItIsGiven) {
  OwnTransport transport;
  Options options = TestOptions();
  options.user_rate_ppm = 1'000'000;
  options.transport = transport.ToC();
  auto monitor = Monitor::Start(options);
  {
    auto loop = monitor.WatchLoop("ui");
    ScopedDispatch dispatch(loop, "sent");
    ASSERT_TRUE(WaitUntil([&] { return monitor.stats().reports_uploaded > 0; }));
  }
  monitor.Stop(60'000);
  EXPECT_GT(transport.batches(), 0u);
  EXPECT_TRUE(Reports().empty());
}

TEST_F(SdkTest, WhatIsNotSentIsCounted) {
  OwnTransport transport;
  Options options = TestOptions();
  options.user_rate_ppm = 0;
  options.transport = transport.ToC();
  auto monitor = Monitor::Start(options);
  {
    auto loop = monitor.WatchLoop("ui");
    ScopedDispatch dispatch(loop, "kept back");
    ASSERT_TRUE(WaitUntil([&] { return monitor.stats().reports_not_sampled > 0; }));
  }
  monitor.Stop(60'000);
  EXPECT_TRUE(Reports().empty());
}

TEST_F(SdkTest, WithoutANetworkNothingIsTried) {
  OwnTransport transport;
  Options options = TestOptions();
  options.user_rate_ppm = 1'000'000;
  options.unmetered_only = true;
  options.transport = transport.ToC();
  for (lw_network network : {LW_NETWORK_NONE, LW_NETWORK_METERED}) {
    lw_set_network(network);
    auto monitor = Monitor::Start(options);
    FreezeUntilReported(monitor.WatchLoop("ui"), "waits");
    monitor.Stop(60'000);
    EXPECT_EQ(transport.batches(), 0u);
    EXPECT_FALSE(Reports().empty());
  }
  lw_set_network(LW_NETWORK_UNMETERED);
  auto monitor = Monitor::Start(options);
  monitor.Stop(60'000);
  EXPECT_GT(transport.batches(), 0u);
  EXPECT_TRUE(Reports().empty());
}

}  // namespace
}  // namespace lagwatch
