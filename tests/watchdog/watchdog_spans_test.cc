// SPDX-License-Identifier: Apache-2.0
// The kinds of things that take too long besides a dispatch, on the real clock: busy loops, waiting tasks,
// scopes, idle handlers, frames and input events.
#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <thread>

#include "tests/testing/process.h"
#include "tests/testing/stalls.h"
#include "tests/watchdog/watchdog_testing.h"

namespace lagwatch::watchdog {
namespace {

using base::kNsPerMs;
using testing::StalledThread;
using testing::StopFlag;

TEST_F(WatchdogTest, ReportsALoopThatIsBusyWithoutAPause) {
  Start();
  StalledThread thread([&](const StopFlag& stop) {
    WatchedLoop* loop = registry_->Add("busy", gettid());
    while (!stop.load() && sink_.hangs().empty()) {
      for (int i = 0; i < 100; ++i) RunShortDispatch(loop);
    }
    while (!stop.load()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    registry_->Remove(loop);
  });
  ASSERT_TRUE(WaitForHangs(1));
  EXPECT_TRUE(testing::WaitUntil([&] { return !sink_.ends().empty(); }));
  testing::RecordedHang hang = sink_.hangs()[0];
  EXPECT_EQ(hang.kind, HangKind::kBusyLoop);
  EXPECT_EQ(hang.innermost_function, reinterpret_cast<uint64_t>(&ShortWork));
  EXPECT_GE(hang.elapsed_ns, options_.threshold_ns);
  EXPECT_GT(hang.facts["dispatches"], 10);
  EXPECT_EQ(sink_.hangs().size(), 1u);
  EXPECT_GE(sink_.ends()[0].second, hang.elapsed_ns);
}

TEST_F(WatchdogTest, SaysNothingOfABusyServerThatStillSleeps) {
  Start();
  WatchedLoop* loop = registry_->Add("server", gettid());
  auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(800);
  while (std::chrono::steady_clock::now() < end) {
    // So few between two sleeps that they are not many, however slow the machine is.
    for (int i = 0; i < 5; ++i) RunShortDispatch(loop);
    std::this_thread::sleep_for(std::chrono::microseconds(100));
  }
  EXPECT_TRUE(sink_.hangs().empty());
  EXPECT_GT(sink_.rounds(), 0);
  EXPECT_TRUE(watchdog_->TryStop());
}

TEST_F(WatchdogTest, CallsALongDispatchNoBusyLoop) {
  Start();
  StalledThread thread([&](const StopFlag& stop) {
    WatchedLoop* loop = registry_->Add("loop", gettid());
    for (int i = 0; i < 1000; ++i) RunShortDispatch(loop);
    loop->probe.Begin("long");
    testing::Spin(stop);
    loop->probe.End();
    registry_->Remove(loop);
  });
  ASSERT_TRUE(WaitForHangs(1));
  std::this_thread::sleep_for(std::chrono::milliseconds(500));
  for (const testing::RecordedHang& hang : sink_.hangs()) EXPECT_EQ(hang.kind, HangKind::kHang);
}

TEST_F(WatchdogTest, ReportsATaskThatWaitsWhileDispatchesAreShort) {
  Start();
  StalledThread thread([&](const StopFlag& stop) {
    WatchedLoop* loop = registry_->Add("loop", gettid());
    for (int i = 0; i < 100; ++i) loop->tasks.NoteQueued();
    while (!stop.load() && sink_.hangs().empty()) {
      RunShortDispatch(loop);
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    for (int i = 0; i < 100; ++i) loop->tasks.NoteRun();
    while (!stop.load()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    registry_->Remove(loop);
  });
  ASSERT_TRUE(WaitForHangs(1));
  EXPECT_TRUE(testing::WaitUntil([&] { return !sink_.ends().empty(); }));
  testing::RecordedHang hang = sink_.hangs()[0];
  EXPECT_EQ(hang.kind, HangKind::kWaited);
  EXPECT_GE(hang.elapsed_ns, options_.threshold_ns);
  EXPECT_EQ(hang.facts["queue_length"], 100);
  EXPECT_GE(sink_.ends()[0].second, hang.elapsed_ns);
}

TEST_F(WatchdogTest, SaysNothingOfALongQueueThatMoves) {
  options_.threshold_ns = 1000 * kNsPerMs;
  Start();
  WatchedLoop* loop = registry_->Add("loop", gettid());
  for (int i = 0; i < 10; ++i) loop->tasks.NoteQueued();
  auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(3000);
  while (std::chrono::steady_clock::now() < end) {
    loop->tasks.NoteQueued();
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    loop->tasks.NoteRun();
  }
  EXPECT_TRUE(sink_.hangs().empty());
  EXPECT_TRUE(watchdog_->TryStop());
}

TEST_F(WatchdogTest, TellsTasksBehindALongDispatchByTheDispatchAlone) {
  Start();
  StalledThread thread([&](const StopFlag& stop) {
    WatchedLoop* loop = registry_->Add("loop", gettid());
    loop->probe.Begin("long");
    loop->tasks.NoteQueued();
    testing::Spin(stop);
    loop->probe.End();
    registry_->Remove(loop);
  });
  ASSERT_TRUE(WaitForHangs(1));
  std::this_thread::sleep_for(std::chrono::milliseconds(600));
  for (const testing::RecordedHang& hang : sink_.hangs()) EXPECT_EQ(hang.kind, HangKind::kHang);
}

TEST_F(WatchdogTest, ReportsAScopeOverItsOwnDeadline) {
  options_.threshold_ns = 3600 * base::kNsPerSecond;
  Start();
  StalledThread thread([&](const StopFlag& stop) {
    WatchedLoop* loop = registry_->Add("loop", gettid());
    loop->probe.Begin("dispatch");
    loop->scopes.Begin("outer", 3600 * base::kNsPerSecond);
    loop->scopes.Begin("inner", 60 * kNsPerMs);
    while (!stop.load() && sink_.hangs().empty()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    loop->scopes.End();
    while (!stop.load()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    loop->scopes.End();
    loop->probe.End();
    registry_->Remove(loop);
  });
  ASSERT_TRUE(WaitForHangs(1));
  testing::RecordedHang hang = sink_.hangs()[0];
  EXPECT_EQ(hang.kind, HangKind::kScope);
  EXPECT_EQ(hang.tag, "inner");
  EXPECT_GE(hang.elapsed_ns, 60 * kNsPerMs);
  EXPECT_TRUE(testing::WaitUntil([&] { return sink_.ends().size() == 1; }));
  EXPECT_GE(sink_.ends()[0].second, hang.elapsed_ns);
  std::this_thread::sleep_for(std::chrono::milliseconds(200));
  EXPECT_EQ(sink_.hangs().size(), 1u);
}

TEST_F(WatchdogTest, WatchesTheOuterScopeAgainAfterTheInnerOne) {
  Start();
  StalledThread thread([&](const StopFlag& stop) {
    WatchedLoop* loop = registry_->Add("loop", gettid());
    loop->scopes.Begin("outer", 300 * kNsPerMs);
    for (int i = 0; !stop.load() && i < 20; ++i) {
      loop->scopes.Begin("inner", 100 * base::kNsPerSecond);
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
      loop->scopes.End();
    }
    while (!stop.load()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    loop->scopes.End();
    registry_->Remove(loop);
  });
  ASSERT_TRUE(WaitForHangs(1));
  EXPECT_EQ(sink_.hangs()[0].tag, "outer");
  EXPECT_EQ(sink_.hangs()[0].kind, HangKind::kScope);
  EXPECT_GE(sink_.hangs()[0].elapsed_ns, 300 * kNsPerMs);
}

TEST_F(WatchdogTest, SaysNothingOfManyScopesThatKeepTheirDeadlines) {
  options_.threshold_ns = 3600 * base::kNsPerSecond;
  Start();
  WatchedLoop* loop = registry_->Add("loop", gettid());
  loop->probe.Begin("long dispatch");
  auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(1500);
  while (std::chrono::steady_clock::now() < end) {
    loop->scopes.Begin("short", 1000 * kNsPerMs);
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    loop->scopes.End();
  }
  EXPECT_TRUE(sink_.hangs().empty());
  EXPECT_TRUE(watchdog_->TryStop());
}

TEST_F(WatchdogTest, ReportsAnIdleHandlerThatTakesTooLong) {
  options_.threshold_ns = 3600 * base::kNsPerSecond;
  options_.idle_handler_threshold_ns = 60 * kNsPerMs;
  Start();
  StalledThread thread([&](const StopFlag& stop) {
    WatchedLoop* loop = registry_->Add("loop", gettid());
    RunShortDispatch(loop);
    loop->idle_handler.Begin(nullptr);
    while (!stop.load() && sink_.hangs().empty()) {
    }
    loop->idle_handler.End();
    while (!stop.load()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    registry_->Remove(loop);
  });
  ASSERT_TRUE(WaitForHangs(1));
  testing::RecordedHang hang = sink_.hangs()[0];
  EXPECT_EQ(hang.kind, HangKind::kIdleHandler);
  EXPECT_GE(hang.elapsed_ns, 60 * kNsPerMs);
  EXPECT_TRUE(testing::WaitUntil([&] { return sink_.ends().size() == 1; }));
  EXPECT_GT(sink_.ends()[0].second, hang.elapsed_ns);
}

TEST_F(WatchdogTest, ReportsASlowFrameWithItsStage) {
  options_.threshold_ns = 3600 * base::kNsPerSecond;
  options_.slow_frame_ns = 60 * kNsPerMs;
  Start();
  StalledThread thread([&](const StopFlag& stop) {
    WatchedLoop* loop = registry_->Add("loop", gettid());
    loop->frames.SetRefreshIntervalNs(10 * kNsPerMs);
    while (!stop.load()) {
      const int64_t begin_ns = base::SystemClock().MonoNs();
      loop->frames.Begin(begin_ns, 0);
      loop->probe.WakeWatchdogIfAsleep();
      loop->frames.SetStage(base::SystemClock().MonoNs(), policies::FrameStage::kDraw);
      while (!stop.load() &&
             (sink_.hangs().empty() || base::SystemClock().MonoNs() < begin_ns + 100 * kNsPerMs)) {
      }
      loop->frames.End(base::SystemClock().MonoNs());
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    registry_->Remove(loop);
  });
  ASSERT_TRUE(WaitForHangs(1));
  testing::RecordedHang hang = sink_.hangs()[0];
  EXPECT_EQ(hang.kind, HangKind::kFrames);
  EXPECT_GE(hang.elapsed_ns, 60 * kNsPerMs);
  EXPECT_GE(hang.samples, 1u);
  EXPECT_EQ(hang.facts["refresh_interval_us"], 10'000);
  EXPECT_TRUE(hang.facts.contains("frame_stage"));
  EXPECT_TRUE(testing::WaitUntil([&] { return sink_.ends().size() == 1; }));
  EXPECT_GE(sink_.ends()[0].second, hang.elapsed_ns);
  // On a loaded machine the watchdog may take a wait of its own for a stop, and not report the first.
  ASSERT_TRUE(testing::WaitUntil([&] { return sink_.frames("loop").frames >= 1; }));
  policies::FrameTotals frames = sink_.frames("loop");
  EXPECT_GE(frames.dropped, 6 * frames.frames);
  uint64_t draw_ns = frames.by_stage_ns[static_cast<size_t>(policies::FrameStage::kDraw)];
  EXPECT_GE(draw_ns, frames.frames * 50 * kNsPerMs);
}

TEST_F(WatchdogTest, AFrameInsideADispatchDoesNotCutTheDispatchsVerdict) {
  options_.threshold_ns = 400 * kNsPerMs;
  Start();
  StalledThread thread([&](const StopFlag& stop) {
    WatchedLoop* loop = registry_->Add("loop", gettid());
    loop->probe.Begin("dispatch");
    auto is_reported = [&] {
      for (const testing::RecordedHang& hang : sink_.hangs()) {
        if (hang.kind == HangKind::kHang) return true;
      }
      return false;
    };
    // Each is long enough for a window of its own, and no slow frame.
    while (!stop.load() && !is_reported()) {
      loop->frames.Begin(base::SystemClock().MonoNs(), 0);
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
      loop->frames.End(base::SystemClock().MonoNs());
    }
    loop->probe.End();
    while (!stop.load()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    registry_->Remove(loop);
  });
  ASSERT_TRUE(testing::WaitUntil([&] { return !sink_.ends().empty(); }));
  for (const testing::RecordedHang& hang : sink_.hangs()) {
    if (hang.kind == HangKind::kHang) {
      EXPECT_GE(hang.verdict.shares.wall_ns, hang.cpu_window_ns * 3 / 4);
    }
  }
}

TEST_F(WatchdogTest, CountsTheFramesOfALoopUntilItIsGone) {
  Start();
  ASSERT_TRUE(testing::WaitUntil([&] { return sink_.rounds() > 0; }));
  std::thread thread([&] {
    WatchedLoop* loop = registry_->Add("first", gettid());
    auto make_frame = [&] {
      loop->frames.Begin(base::SystemClock().MonoNs(), 0);
      loop->probe.WakeWatchdogIfAsleep();
      loop->frames.End(base::SystemClock().MonoNs());
    };
    make_frame();
    EXPECT_TRUE(testing::WaitUntil([&] { return sink_.frames("first").frames == 1; }));
    make_frame();
    make_frame();
    registry_->Remove(loop);
  });
  thread.join();
  EXPECT_TRUE(testing::WaitUntil([&] { return sink_.frames("first").frames == 3; }));
}

TEST_F(WatchdogTest, ReportsAnInputEventThatIsNotFinished) {
  options_.threshold_ns = 3600 * base::kNsPerSecond;
  options_.input_threshold_ns = 60 * kNsPerMs;
  options_.anr_threshold_ns = 300 * kNsPerMs;
  Start();
  StalledThread thread([&](const StopFlag& stop) {
    WatchedLoop* loop = registry_->Add("loop", gettid());
    loop->inputs.NoteQueued();
    while (!stop.load() && sink_.hangs().size() < 2) {
      RunShortDispatch(loop);
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    loop->inputs.NoteRun();
    while (!stop.load()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    registry_->Remove(loop);
  });
  auto is_raised = [&] { return !sink_.hangs().empty() && sink_.hangs().back().level == HangLevel::kAnr; };
  ASSERT_TRUE(testing::WaitUntil(is_raised));
  for (const testing::RecordedHang& hang : sink_.hangs()) EXPECT_EQ(hang.kind, HangKind::kInput);
  EXPECT_GE(sink_.hangs()[0].elapsed_ns, 60 * kNsPerMs);
  EXPECT_TRUE(testing::WaitUntil([&] { return sink_.ends().size() == sink_.hangs().size(); }));
}

TEST_F(WatchdogTest, SaysNothingOfIdleHandlersAndInputsInTime) {
  options_.idle_handler_threshold_ns = 1000 * kNsPerMs;
  options_.input_threshold_ns = 1000 * kNsPerMs;
  Start();
  WatchedLoop* loop = registry_->Add("loop", gettid());
  auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(1500);
  while (std::chrono::steady_clock::now() < end) {
    loop->inputs.NoteQueued();
    loop->idle_handler.Begin(nullptr);
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    loop->idle_handler.End();
    loop->inputs.NoteRun();
  }
  EXPECT_TRUE(sink_.hangs().empty());
  EXPECT_TRUE(watchdog_->TryStop());
}

}  // namespace
}  // namespace lagwatch::watchdog
