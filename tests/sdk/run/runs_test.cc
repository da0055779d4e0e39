// SPDX-License-Identifier: Apache-2.0
// The end of the last run, and the usage of loops.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <lagwatch/lagwatch.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstddef>
#include <vector>

#include "report/format/report.h"
#include "report/spool/spool_reader.h"
#include "tests/sdk/sdk_testing.h"

namespace lagwatch {
namespace {

using report::RecordType;

TEST_F(SdkTest, TellsHowTheLastRunEnded) {
  std::vector<lw_last_exit> told;
  Options options = TestOptions();
  options.process.on_last_exit = [](const lw_last_exit* last_exit, void* context) {
    // Any function may be called from here.
    lw_last_exit same;
    lw_last_exit_init(&same);
    EXPECT_EQ(lw_get_last_exit(&same), 1);
    EXPECT_STREQ(same.session_id, last_exit->session_id);
    static_cast<std::vector<lw_last_exit>*>(context)->push_back(*last_exit);
  };
  options.process.on_last_exit_context = &told;
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
  EXPECT_EQ(told[0].was_in_hang, 0);
  EXPECT_STREQ(told[0].scene, "inbox");
  EXPECT_STREQ(told[0].app_version, "1.2.3");
  EXPECT_EQ(told[0].session_id, base::ToString(session));
  EXPECT_STREQ(told[0].report_id, "");
  EXPECT_GT(told[0].last_seen_wall_ms, 0u);
  size_t run_ends = 0;
  for (const report::OwnedRecord& record : ReadSpool()) {
    if (record.type != RecordType::kRunEnd) continue;
    ++run_ends;
    EXPECT_EQ(report::DecodeRunEnd(record.payload)->session_id, session);
  }
  EXPECT_EQ(run_ends, 1u);
}

TEST_F(SdkTest, TellsWhatLoopsWereUsedForEvenWhenNothingHang) {
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
  EXPECT_EQ(usage.loops[0].usage.hangs, 0u);
  lw_stats stats;
  lw_stats_init(&stats);
  lw_get_stats(&stats);
  EXPECT_EQ(stats.usage_records, 1u);
  // Nothing is left for the next start to report.
  lw_unwatch_loop(loop.handle());
  Monitor::Start(options).Stop();
  EXPECT_EQ(Usages().size(), 1u);
}

TEST_F(SdkTest, TellsNothingOfUseWhenThatIsOff) {
  Options options = TestOptions();
  options.detection.usage_period_s = 0;
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

TEST_F(SdkTest, TheNextStartTellsTheEndOfAHangThatExitEnded) {
  pid_t child = fork();
  if (child == 0) {
    auto monitor = Monitor::Start(TestOptions());
    auto loop = monitor.WatchLoop("ui");
    lw_dispatch_begin(loop.handle(), "ends the program");
    testing::WaitUntil([&] { return monitor.stats().reports_written > 0; });
    usleep(300'000);
    std::quick_exit(0);
  }
  waitpid(child, nullptr, 0);
  ASSERT_FALSE(Reports().empty());  // several, if a busy machine changed its stack
  EXPECT_TRUE(Ends().empty());
  auto monitor = Monitor::Start(TestOptions());
  ASSERT_EQ(Ends().size(), 1u);
  EXPECT_EQ(Ends()[0].report_id, Reports()[0].id);
  EXPECT_GE(Ends()[0].duration_ns, Reports()[0].elapsed_ns);
  EXPECT_EQ(monitor.last_exit()->reason, LW_EXIT_CLEAN);
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
    usleep(20'000);  // long enough for a usage report
    lw_unwatch_loop(loop.handle());
  }
  report::SpoolReader reader(&base::SystemEnv(), directory_ / "spool");
  const size_t segments = reader.List(report::SpoolReader::Include::kFinished)->size();
  EXPECT_GE(segments, 64u);
  EXPECT_LE(segments, 65u);  // a run's beginning and its end
}

}  // namespace
}  // namespace lagwatch
