// SPDX-License-Identifier: Apache-2.0
// Hangs as a program sees them: each kind is reported, with its tag, its end and the history before it.
#include <gtest/gtest.h>
#include <lagwatch/lagwatch.h>
#include <lagwatch/queue_ping.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <functional>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "report/format/report.h"
#include "report/spool/spool_reader.h"
#include "tests/sdk/sdk_testing.h"
#include "tests/testing/process.h"
#include "tests/testing/stalls.h"

namespace lagwatch {
namespace {

using report::RecordType;
using testing::WaitUntil;

TEST_F(SdkTest, PutsAHangOnDiskWhileItLastsAndItsEndAfterwards) {
  auto monitor = Monitor::Start(TestOptions());
  ASSERT_TRUE(monitor.is_on()) << monitor.why_off();
  auto loop = monitor.WatchLoop("ui");
  FreezeUntilReported(loop, "freeze");
  ASSERT_TRUE(WaitUntil([&] { return Ends().size() >= Reports().size(); }));

  report::Report hang = Reports()[0];
  EXPECT_EQ(hang.app, "sdk-test");
  EXPECT_EQ(hang.app_version, "1.2.3");
  EXPECT_EQ(hang.user, "u-1");
  EXPECT_EQ(hang.loop, "ui");
  EXPECT_EQ(hang.tag, "freeze");
  EXPECT_EQ(hang.kind, report::HangKind::kHang);
  EXPECT_EQ(hang.threshold_ms, 100u);
  EXPECT_EQ(hang.pid, static_cast<uint32_t>(getpid()));
  EXPECT_EQ(hang.tid, static_cast<uint32_t>(gettid()));
  EXPECT_FALSE(hang.os.empty());
  EXPECT_FALSE(hang.machine.empty());
  testing::Process shell({"/bin/sh", "-c", ". /etc/os-release; echo \"$PRETTY_NAME\""});
  ASSERT_EQ(shell.Wait(), 0);
  EXPECT_EQ(hang.distribution + "\n", shell.Output());
  EXPECT_GE(hang.elapsed_ns, 100 * 1'000'000);
  EXPECT_GE(hang.samples.size(), 1u);
  EXPECT_GE(hang.threads.size(), 2u);
  EXPECT_GE(hang.modules.size(), 1u);
  EXPECT_FALSE(hang.modules[0].build_id.empty());
  EXPECT_GE(hang.stacks[hang.expensive_stack].frames.size(), 3u);
  EXPECT_LE(hang.stacks.size(), hang.samples.size() + hang.threads.size() + 1);
  EXPECT_EQ(Ends()[0].report_id, hang.id);
  EXPECT_GE(Ends()[0].duration_ns, hang.elapsed_ns);

  lw_stats stats = monitor.stats();
  EXPECT_GE(stats.hangs, 1u);
  EXPECT_GE(stats.reports_written, 1u);
  EXPECT_EQ(stats.reports_dropped, 0u);
  EXPECT_GE(stats.stack_samples, hang.samples.size());
}

TEST_F(SdkTest, HasTheDiskTakeAHangAtOnceUnlessToldNotTo) {
  {
    auto monitor = Monitor::Start(TestOptions());
    const uint64_t before = monitor.stats().spool_syncs;
    FreezeUntilReported(monitor.WatchLoop("ui"), "freeze");
    EXPECT_TRUE(WaitUntil([&] { return monitor.stats().spool_syncs > before; }));
    EXPECT_EQ(monitor.stats().spool_syncs_failed, 0u);
  }
  Options options = TestOptions();
  options.process.spool_sync = LW_SPOOL_SYNC_NEVER;
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

TEST_F(SdkTest, TimesDispatchesWithoutAClockToo) {
  auto monitor = Monitor::Start(TestOptions());
  auto loop = monitor.WatchLoop("ui");
  lw_dispatch_begin_counted(loop.handle(), "counted");
  EXPECT_TRUE(WaitUntil([&] { return !Reports().empty(); }));
  lw_dispatch_end_counted(loop.handle());
  EXPECT_EQ(Reports()[0].tag, "counted");
  EXPECT_TRUE(WaitUntil([&] { return !Ends().empty(); }));
}

TEST_F(SdkTest, RaisesAHangOverTheLoopsSecondThresholdToAnAnr) {
  auto monitor = Monitor::Start(TestOptions());
  auto loop = monitor.WatchLoop("ui");
  lw_thresholds in_force = loop.SetThresholds(5, 200);
  EXPECT_EQ(in_force.threshold_ms, 16u);
  EXPECT_EQ(in_force.anr_threshold_ms, 200u);
  loop.SetWeight(3);
  auto last_level = [&] { return Reports().empty() ? report::HangLevel::kHang : Reports().back().level; };
  {
    ScopedDispatch dispatch(loop, "long");
    EXPECT_TRUE(WaitUntil([&] { return last_level() == report::HangLevel::kAnr; }));
  }
  report::Report anr = Reports().back();
  EXPECT_EQ(anr.hang_id, Reports()[0].id);
  EXPECT_EQ(anr.threshold_ms, 16u);
  EXPECT_EQ(Reports()[0].level, report::HangLevel::kHang);
  EXPECT_EQ(FactOf(anr, "loop_weight"), 3);
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
  for (const report::Report& report : Reports()) EXPECT_EQ(report.level, report::HangLevel::kHang);
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
  EXPECT_EQ(Reports()[0].kind, report::HangKind::kBusyLoop);
  EXPECT_GE(Reports()[0].elapsed_ns, 100 * 1'000'000);
}

TEST_F(SdkTest, ReportsATaskThatWaitsInTheQueue) {
  auto monitor = Monitor::Start(TestOptions());
  auto loop = monitor.WatchLoop("ui");
  loop.NoteQueued();
  EXPECT_TRUE(WaitUntil([&] { return !Reports().empty(); }));
  loop.NoteRun();
  EXPECT_TRUE(WaitUntil([&] { return Ends().size() == Reports().size(); }));
  EXPECT_EQ(Reports()[0].kind, report::HangKind::kWaited);
  EXPECT_GE(Reports()[0].elapsed_ns, 100 * 1'000'000);
}

// An executor that runs posted tasks on request.
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
  EXPECT_EQ(Reports()[0].kind, report::HangKind::kWaited);
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
  options.detection.idle_handler_threshold_ms = 60;
  options.detection.input_threshold_ms = 60;
  auto monitor = Monitor::Start(options);
  auto loop = monitor.WatchLoop("ui");
  // A span has a second report by then if reading the spool is slow.
  auto wait_for_kind = [&](report::HangKind kind) {
    EXPECT_TRUE(WaitUntil([&] { return !Reports().empty() && Reports().back().kind == kind; }));
    EXPECT_EQ(Reports().back().threshold_ms, 60u);
  };
  {
    ScopedDeadline scope(loop, "load", 60);
    wait_for_kind(report::HangKind::kScope);
    EXPECT_EQ(Reports()[0].tag, "load");
  }
  {
    ScopedIdleHandler idle(loop);
    wait_for_kind(report::HangKind::kIdleHandler);
  }
  loop.InputReceived();
  wait_for_kind(report::HangKind::kInput);
  loop.InputFinished();
  EXPECT_TRUE(WaitUntil([&] { return Ends().size() >= 3; }));
}

TEST_F(SdkTest, ReportsASlowFrameAndCountsFramesByScene) {
  Options options = TestOptions();
  options.threshold_ms = 3'600'000;
  options.detection.slow_frame_ms = 60;
  auto monitor = Monitor::Start(options);
  auto loop = monitor.WatchLoop("ui");
  loop.SetRefreshInterval(10'000'000);
  lw_set_scene("inbox");
  {
    ScopedFrame frame(loop);
    frame.Stage(LW_STAGE_LAYOUT);
    EXPECT_TRUE(WaitUntil([&] { return !Reports().empty(); }));
    frame.Stage(static_cast<lw_stage>(LW_STAGE_SUBMIT + 1));
  }
  ASSERT_TRUE(WaitUntil([&] { return Ends().size() == 1; }));
  report::Report report = Reports()[0];
  EXPECT_EQ(report.kind, report::HangKind::kFrames);
  EXPECT_EQ(report.threshold_ms, 60u);
  EXPECT_EQ(TextFactOf(report, "frame_stage"), "layout");
  EXPECT_EQ(FactOf(report, "refresh_interval_us"), 10'000);
  for (int i = 0; i < 2; ++i) ScopedFrame frame(loop);
  lw_set_scene("editor");
  for (int i = 0; i < 5; ++i) ScopedFrame frame(loop);
  monitor.Stop();

  std::vector<report::FrameSlice> slices;
  for (const report::OwnedRecord& record : ReadSpool()) {
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
  EXPECT_EQ(slices[0].refresh_interval_ns, 10'000'000);
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
  EXPECT_GT(history[0].age_ns, 0);
}

TEST_F(SdkTest, TellsHowLongTasksOfPastDispatchesHadWaited) {
  auto monitor = Monitor::Start(TestOptions());
  auto loop = monitor.WatchLoop("ui");
  auto dispatch = [&](const char* tag, std::chrono::milliseconds wait) {
    ScopedDispatch scope(loop, tag);
    loop.NoteQueueWait(wait / 2);
    loop.NoteQueueWait(wait);
    loop.NoteQueueWait(wait / 3);
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  };
  loop.NoteQueueWait(std::chrono::seconds(77));  // in no dispatch
  dispatch("first", std::chrono::milliseconds(1234));
  dispatch("second", std::chrono::milliseconds(56));
  {
    ScopedDispatch scope(loop, "untold");
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  FreezeUntilReported(loop, "slow");
  const std::vector<report::PastDispatch> history = Reports().back().history;
  ASSERT_EQ(history.size(), 3u);
  EXPECT_EQ(history[0].queue_wait_ns, 1'234'000'000);
  EXPECT_EQ(history[1].queue_wait_ns, 56'000'000);
  EXPECT_EQ(history[2].queue_wait_ns, 0);
}

TEST_F(SdkTest, ReportsTooMuchCpuNowAndOnAverage) {
  Options options = TestOptions();
  options.cpu.is_watched = true;
  options.cpu.percent = 1;
  options.cpu.average_percent = 0;
  options.cpu.background_percent = 1;
  options.cpu.window_ms = 1000;
  lw_set_foreground(0);
  auto monitor = Monitor::Start(options);
  ASSERT_TRUE(monitor.is_on()) << monitor.why_off();
  testing::StalledThread spinner([](const testing::StopFlag& stop) { testing::Spin(stop); });
  auto of_kind = [&](report::HangKind kind) {
    std::vector<report::Report> found;
    for (report::Report& report : Reports()) {
      if (report.kind == kind) found.push_back(std::move(report));
    }
    return found;
  };
  ASSERT_TRUE(WaitUntil([&] {
    return !of_kind(report::HangKind::kCpu).empty() && !of_kind(report::HangKind::kCpuAverage).empty();
  }));
  for (report::HangKind kind : {report::HangKind::kCpu, report::HangKind::kCpuAverage}) {
    const report::Report report = of_kind(kind)[0];
    EXPECT_EQ(report.loop, "");
    EXPECT_EQ(report.elapsed_ns, 0);
    EXPECT_GT(report.cpu_process_ns, 0);
    EXPECT_EQ(report.tid, static_cast<uint32_t>(spinner.tid()));
    EXPECT_GE(report.threads.size(), 1u);
    EXPECT_GT(report.samples.at(0).use.cpu_ns, 0);
    std::set<std::string> facts;
    for (const report::Fact& fact : report.facts) facts.insert(fact.name);
    EXPECT_TRUE(facts.contains("busiest_1_name") && facts.contains("foreground"));
  }
  EXPECT_EQ(monitor.stats().hangs, 0u);
  // A process that computes is not frozen.
  monitor.Stop();
  monitor = Monitor::Start(TestOptions());
  ASSERT_TRUE(monitor.last_exit().has_value());
  EXPECT_EQ(monitor.last_exit()->was_in_hang, 0);
  lw_set_foreground(1);
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
  options.listener.hang_begin = [](void* context, const lw_hang* hang) {
    EXPECT_STREQ(hang->loop, "ui");
    EXPECT_STREQ(hang->tag, "freeze");
    EXPECT_EQ(hang->kind, LW_KIND_HANG);
    EXPECT_EQ(hang->level, LW_LEVEL_HANG);
    static_cast<Heard*>(context)->tid = gettid();
    ++static_cast<Heard*>(context)->begins;
  };
  options.listener.hang_end = [](void* context, const lw_hang* hang) {
    static_cast<Heard*>(context)->duration_ns = hang->elapsed_ns;
    ++static_cast<Heard*>(context)->ends;
  };
  options.listener.hang_filtered = [](void* context, const lw_hang*, lw_filtered why) {
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

TEST_F(SdkTest, PutsAHangIntoWordsForAListener) {
  static std::mutex mutex;  // whatever happens to this test, they stay
  static std::string begin, end;
  Options options = TestOptions();
  options.listener.hang_begin = [](void*, const lw_hang* hang) {
    const std::lock_guard lock(mutex);
    begin = hang->text;
  };
  options.listener.hang_end = [](void*, const lw_hang* hang) {
    const std::lock_guard lock(mutex);
    end = std::string("ended") + hang->text;
  };
  auto monitor = Monitor::Start(options);
  auto loop = monitor.WatchLoop("ui");
  FreezeUntilReported(loop, "freeze");
  ASSERT_TRUE(WaitUntil([&] {
    const std::lock_guard lock(mutex);
    return !end.empty();
  }));
  EXPECT_EQ(end, "ended");
  const std::string pid = std::to_string(getpid());
  EXPECT_EQ(begin.find("sdk-test 1.2.3 (pid " + pid + ") has not responded for 0."), 0u) << begin;
  EXPECT_NE(begin.find(" s (loop ui, dispatch freeze)\n  verdict  "), std::string::npos) << begin;
  EXPECT_NE(begin.find("\n    "), std::string::npos) << begin;
  EXPECT_NE(begin.find("\n  report   lagwatch report " + base::ToString(Reports()[0].id) + "\n"),
            std::string::npos)
      << begin;
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
  options.detection.sensitive_ms = 50;
  options.listener.context = &heard;
  options.listener.sensitive = [](void* context, const lw_hang* dispatch) {
    auto& told = *static_cast<Heard*>(context);
    if (std::string(dispatch->tag) != "long") return;
    EXPECT_STREQ(dispatch->loop, "ui");
    EXPECT_EQ(dispatch->kind, LW_KIND_HANG);
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

}  // namespace
}  // namespace lagwatch
