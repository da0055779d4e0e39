// SPDX-License-Identifier: Apache-2.0
// The watchdog as it is, on the real clock. Durations are compared with each other, never with
// a machine's promises.
#include "watchdog/watchdog.h"

#include <gtest/gtest.h>

#include <fstream>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <thread>

#include "base/process/proc_file.h"
#include "stack/unwind/table_unwinder.h"
#include "tests/testing/process.h"
#include "tests/testing/stalls.h"
#include "tests/watchdog/recording_sink.h"

namespace lagwatch::watchdog {
namespace {

using base::kNsPerMs;
using testing::StalledThread;
using testing::StopFlag;

class WatchdogTest : public ::testing::Test {
 protected:
  ~WatchdogTest() override {
    if (watchdog_ != nullptr) {
      EXPECT_TRUE(watchdog_->TryStop());
    }
  }
  WatchdogTest() {
    options_.threshold_ns = 200 * kNsPerMs;
    options_.check_period_ns = 100 * kNsPerMs;
    options_.sample_interval_ns = 10 * kNsPerMs;
  }
  void Start() {
    watchdog_.reset();
    capturer_.reset();  // one at a time
    capturer_ = stack::StackCapturer::Create({}, stack::CreateTableUnwinder().value()).value();
    watchdog_ = std::make_unique<Watchdog>(options_, registry_.get(), capturer_.get(), &sink_);
    ASSERT_TRUE(watchdog_->Start().ok());
  }
  // A thread whose one dispatch is `stall`.
  std::function<void(const StopFlag&)> Dispatch(std::function<void(const StopFlag&)> stall) {
    return [this, stall](const StopFlag& stop) {
      WatchedLoop* loop = registry_->Add("loop", gettid());
      loop->probe.Begin("stall");
      stall(stop);
      loop->probe.End();
      while (!stop.load()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
      registry_->Remove(loop);
    };
  }
  bool WaitForHangs(size_t count) {
    return testing::WaitUntil([&] { return sink_.hangs().size() >= count; });
  }

  WatchOptions options_;
  std::unique_ptr<LoopRegistry> registry_ = std::make_unique<LoopRegistry>();
  std::unique_ptr<stack::StackCapturer> capturer_;
  testing::RecordingSink sink_;
  std::unique_ptr<Watchdog> watchdog_;
};

TEST_F(WatchdogTest, ReportsASpinWithItsFunctionItsCpuAndItsDuration) {
  Start();
  base::TickScale scale;
  auto begin = std::chrono::steady_clock::now();
  int64_t took_ns = 0;
  {
    StalledThread thread(Dispatch(testing::Spin));
    ASSERT_TRUE(WaitForHangs(1));
    std::this_thread::sleep_for(std::chrono::milliseconds(300));
  }
  took_ns = std::chrono::nanoseconds(std::chrono::steady_clock::now() - begin).count();
  ASSERT_TRUE(testing::WaitUntil([&] { return !sink_.ends().empty(); }));
  testing::RecordedHang hang = sink_.hangs()[0];
  EXPECT_EQ(hang.innermost_function, reinterpret_cast<uint64_t>(&testing::Spin));
  EXPECT_GE(hang.elapsed_ns, options_.threshold_ns);
  EXPECT_GT(hang.cpu_thread_ns, 0);
  int64_t duration_ns = sink_.ends()[0].second;
  EXPECT_GT(duration_ns, hang.elapsed_ns);
  EXPECT_LE(duration_ns, took_ns);
}

TEST_F(WatchdogTest, ReportsALockWithoutCpu) {
  Start();
  StalledThread thread(Dispatch(testing::WaitForLock));
  ASSERT_TRUE(WaitForHangs(1));
  testing::RecordedHang hang = sink_.hangs()[0];
  EXPECT_LT(hang.cpu_thread_ns, hang.cpu_window_ns / 2);
}

TEST_F(WatchdogTest, NamesTheOwnerOfALock) {
  Start();
  std::mutex mutex;
  std::unique_lock held(mutex);
  StalledThread thread(Dispatch([&](const StopFlag&) { std::lock_guard lock(mutex); }));
  EXPECT_TRUE(WaitForHangs(1));
  held.unlock();
  ASSERT_FALSE(sink_.hangs().empty());
  testing::RecordedHang hang = sink_.hangs()[0];
  EXPECT_EQ(hang.wait_outcome, WaitOutcome::kLock);
  ASSERT_GE(hang.waits.size(), 1u);
  EXPECT_EQ(hang.waits[0].address, reinterpret_cast<uint64_t>(&mutex));
  EXPECT_EQ(hang.waits[0].owner_tid, gettid());
  EXPECT_EQ(watchdog_->counters().lock_layouts_unknown.value(), 0u);
}

TEST_F(WatchdogTest, SaysNothingOfLocksWhenNoneIsWaitedFor) {
  Start();
  StalledThread thread(Dispatch(testing::Spin));
  ASSERT_TRUE(WaitForHangs(1));
  EXPECT_TRUE(sink_.hangs()[0].waits.empty());
  EXPECT_EQ(sink_.hangs()[0].wait_outcome, WaitOutcome::kNone);
}

TEST_F(WatchdogTest, ReportsAChangedStackAsTheSameHang) {
  Start();
  StalledThread thread(Dispatch([&](const StopFlag& stop) {
    StopFlag first_is_over{false};
    std::thread timer([&] {
      WaitForHangs(1);
      first_is_over = true;
    });
    testing::Spin(first_is_over);
    timer.join();
    testing::FaultPages(stop);
  }));
  ASSERT_TRUE(WaitForHangs(2));
  testing::RecordedHang second = sink_.hangs()[1];
  EXPECT_EQ(second.hang_id, sink_.hangs()[0].hang_id);
  EXPECT_NE(second.id, second.hang_id);
  EXPECT_EQ(second.ordinal, 1u);
}

TEST_F(WatchdogTest, RaisesAHangThatPassesTheSecondThreshold) {
  options_.anr_threshold_ns = 400 * kNsPerMs;
  Start();
  StalledThread thread(Dispatch(testing::Spin));
  auto is_raised = [&] { return !sink_.hangs().empty() && sink_.hangs().back().level == HangLevel::kAnr; };
  ASSERT_TRUE(testing::WaitUntil(is_raised));
  testing::RecordedHang anr = sink_.hangs().back();
  EXPECT_EQ(anr.hang_id, sink_.hangs()[0].id);
  EXPECT_GE(anr.elapsed_ns, options_.anr_threshold_ns);
}

TEST_F(WatchdogTest, FollowsThresholdsThatChangeWhileADispatchGoesOn) {
  options_.threshold_ns = 3600 * base::kNsPerSecond;
  Start();
  std::atomic<WatchedLoop*> loop{nullptr};
  StalledThread thread([&](const StopFlag& stop) {
    loop = registry_->Add("loop", gettid());
    loop.load()->probe.Begin("stall");
    testing::Spin(stop);
    registry_->Remove(loop);
  });
  ASSERT_TRUE(testing::WaitUntil([&] { return loop.load() != nullptr && sink_.rounds() > 2; }));
  EXPECT_TRUE(sink_.hangs().empty());
  loop.load()->limits.SetThresholds({16 * kNsPerMs, 0});
  EXPECT_TRUE(WaitForHangs(1));
}

// Works in a function that a stack shows.
[[gnu::noinline]] void ShortWork() {
  for (int i = 0; i < 10'000; ++i) asm volatile("");
}

void RunShortDispatch(WatchedLoop* loop) {
  loop->probe.Begin("short");
  ShortWork();
  loop->probe.End();
}

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

TEST_F(WatchdogTest, TellsWhatTheLoopDidBefore) {
  options_.slow_dispatch_ns = 50 * kNsPerMs;
  Start();
  StalledThread thread([&](const StopFlag& stop) {
    WatchedLoop* loop = registry_->Add("loop", gettid());
    // Dispatches that keep the watchdog awake, until it has said what to keep.
    testing::WaitUntil([&] {
      RunShortDispatch(loop);
      return sink_.rounds() > 4;
    });
    for (int i = 0; i < 1000; ++i) {
      loop->probe.Begin("tiny");
      loop->probe.End();
    }
    loop->probe.Begin("sleep");
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
    loop->probe.End();
    loop->probe.Begin("compute");
    for (int64_t begin_ns = base::ThreadCpuNs(gettid());
         base::ThreadCpuNs(gettid()) < begin_ns + 60 * kNsPerMs;) {
    }
    loop->probe.End();
    loop->probe.Begin("stall");
    testing::Spin(stop);
    loop->probe.End();
    registry_->Remove(loop);
  });
  auto is_stall_reported = [&] { return !sink_.hangs().empty() && sink_.hangs().back().tag == "stall"; };
  ASSERT_TRUE(testing::WaitUntil(is_stall_reported));
  testing::RecordedHang hang = sink_.hangs().back();
  // A tiny one may have been preempted.
  std::erase_if(hang.history,
                [](const auto& dispatch) { return dispatch.tag == "tiny" || dispatch.tag == "short"; });
  ASSERT_EQ(hang.history.size(), 2u);
  const auto& slept = hang.history[0];
  const auto& computed = hang.history[1];
  EXPECT_EQ(slept.tag, "sleep");
  EXPECT_EQ(computed.tag, "compute");
  EXPECT_GE(slept.wall_ns, 10 * kNsPerMs / 100 * 98);
  EXPECT_GE(slept.age_ns, computed.age_ns + computed.wall_ns / 100 * 98);
  EXPECT_GE(computed.age_ns, options_.threshold_ns / 100 * 98);
  EXPECT_GE(computed.cpu_ns, 60 * kNsPerMs / 100 * 98);
  EXPECT_LE(computed.cpu_ns, computed.wall_ns);
}

TEST_F(WatchdogTest, FindsThatItsSignalWasTakenThoughNothingHappens) {
  capturer_ = stack::StackCapturer::Create({}, stack::CreateTableUnwinder().value()).value();
  const int taken = capturer_->signal_number();
  signal(taken, [](int) {});
  watchdog_ = std::make_unique<Watchdog>(options_, registry_.get(), capturer_.get(), &sink_);
  ASSERT_TRUE(watchdog_->Start().ok());
  EXPECT_TRUE(testing::WaitUntil([&] { return capturer_->counters().handler_moved.value() == 1; }));
  EXPECT_EQ(sink_.hangs().size(), 0u);
  EXPECT_TRUE(watchdog_->TryStop());
  EXPECT_NE(capturer_->signal_number(), taken);
  signal(taken, SIG_DFL);
}

class UsageTest : public WatchdogTest {
 protected:
  UsageTest() {
    options_.slow_dispatch_ns = 60 * kNsPerMs;
    options_.listener = &listener_;
  }
  // Before the listener goes.
  ~UsageTest() override {
    if (watchdog_ == nullptr) return;
    EXPECT_TRUE(watchdog_->TryStop());
    watchdog_.reset();
  }
  // One dispatch that sleeps.
  void Sleep(WatchedLoop* loop, const char* tag, int64_t ms) {
    loop->probe.Begin(tag);
    std::this_thread::sleep_for(std::chrono::milliseconds(ms));
    loop->probe.End();
  }
  // Dispatches that keep the watchdog awake, until it has said what to keep.
  void WarmUp(WatchedLoop* loop) {
    testing::WaitUntil([&] {
      RunShortDispatch(loop);
      return sink_.rounds() > 4;
    });
  }

  // Hears of long dispatches.
  class Listener final : public HangListener {
   public:
    void OnHangBegin(const HangNotice&) override {}
    void OnHangEnd(const HangNotice&) override {}
    void OnFiltered(const HangNotice&, FilterReason) override {}
    bool WantsSensitive() const override { return true; }
    void OnSensitive(const HangNotice& dispatch) override {
      std::lock_guard lock(mutex);
      tids.push_back(gettid());
      told.emplace_back(dispatch.tag, dispatch.elapsed_ns);
    }
    std::vector<std::pair<std::string, int64_t>> All() {
      std::lock_guard lock(mutex);
      return told;
    }
    std::mutex mutex;
    std::vector<std::pair<std::string, int64_t>> told;
    std::vector<int> tids;
  };
  Listener listener_;
};

TEST_F(UsageTest, TellsAtTheEndWhatLoopsWereUsedFor) {
  options_.threshold_ns = 400 * kNsPerMs;
  Start();
  int64_t begin_ns = base::SystemClock().MonoNs();
  StalledThread thread([&](const StopFlag& stop) {
    WatchedLoop* loop = registry_->Add("ui", gettid());
    WarmUp(loop);
    for (int i = 0; i < 1000; ++i) {
      loop->probe.Begin("tiny");
      loop->probe.End();
    }
    Sleep(loop, "open", 100);
    Sleep(loop, "open", 130);
    Sleep(loop, "quick", 5);
    loop->probe.Begin("freeze");
    testing::WaitUntil([&] { return !sink_.hangs().empty(); });
    loop->probe.End();
    testing::WaitUntil([&] { return !sink_.ends().empty() || stop.load(); });
    while (!stop.load()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    registry_->Remove(loop);
  });
  ASSERT_TRUE(testing::WaitUntil([&] { return !sink_.ends().empty(); }));
  EXPECT_TRUE(sink_.usages().empty());
  EXPECT_TRUE(watchdog_->TryStop());
  watchdog_.reset();
  int64_t most_ns = base::SystemClock().MonoNs() - begin_ns;

  ASSERT_EQ(sink_.usages().size(), 1u);
  const testing::RecordedUsage usage = sink_.usages()[0];
  EXPECT_NE(usage.id, base::Uuid{});
  EXPECT_GE(usage.end_wall_ms, usage.begin_wall_ms);
  ASSERT_EQ(usage.loops.size(), 1u);
  const policies::LoopUsage& ui = usage.loops.at("ui");
  EXPECT_GE(ui.watched_ns, options_.threshold_ns + 230 * kNsPerMs);
  EXPECT_LE(ui.watched_ns, most_ns);
  EXPECT_GE(ui.dispatches, 1004u);
  EXPECT_EQ(ui.untimed_dispatches, 0u);
  uint64_t counted = 0;
  for (uint64_t count : ui.durations.counts) counted += count;
  EXPECT_EQ(counted, ui.dispatches);
  EXPECT_GE(ui.durations.counts[0], 500u);
  // Those of 5, 100, 130 and 400 ms, on a machine that may be late.
  uint64_t long_count = 0;
  for (size_t i = 3; i < ui.durations.counts.size(); ++i) long_count += ui.durations.counts[i];
  EXPECT_GE(long_count, 4u);
  std::set<std::string> hangs;
  for (const testing::RecordedHang& hang : sink_.hangs()) hangs.insert(base::ToString(hang.hang_id));
  EXPECT_EQ(ui.hangs, hangs.size());
  int64_t hang_ns = 0;
  for (const auto& [id, duration_ns] : sink_.ends()) {
    if (hangs.contains(base::ToString(id))) hang_ns += duration_ns;  // its first report
  }
  EXPECT_EQ(ui.hang_ns, hang_ns);
  const policies::SlowDispatches& open = usage.slow.at("open");
  EXPECT_EQ(open.count, 2u);
  EXPECT_GE(open.total_ns, 230 * kNsPerMs / 100 * 98);
  EXPECT_GE(open.longest_ns, 130 * kNsPerMs / 100 * 98);
  EXPECT_EQ(usage.slow.count("freeze"), 0u);
}

TEST_F(UsageTest, TellsAHangThatGoesOnAsFarAsItWent) {
  options_.usage_period_ns = 300 * kNsPerMs;
  Start();
  {
    StalledThread thread(Dispatch(testing::Spin));
    ASSERT_TRUE(testing::WaitUntil([&] { return sink_.usages().size() >= 4; }));
  }
  EXPECT_TRUE(testing::WaitUntil([&] { return !sink_.ends().empty(); }));
  EXPECT_TRUE(watchdog_->TryStop());
  watchdog_.reset();
  uint64_t hangs = 0;
  int64_t hang_ns = 0;
  int64_t watched_ns = 0;
  std::set<std::string> ids;
  for (const testing::RecordedUsage& usage : sink_.usages()) {
    ids.insert(base::ToString(usage.id));
    for (const auto& [name, loop] : usage.loops) {
      EXPECT_LE(loop.hang_ns, loop.watched_ns + 100 * kNsPerMs);
      hangs += loop.hangs;
      hang_ns += loop.hang_ns;
      watched_ns += loop.watched_ns;
    }
  }
  EXPECT_EQ(ids.size(), sink_.usages().size());
  EXPECT_EQ(hangs, 1u);
  // A report is not withdrawn if the duration turns out a little shorter by a better known clock.
  EXPECT_NEAR(static_cast<double>(hang_ns), static_cast<double>(sink_.ends()[0].second), 50.0 * kNsPerMs);
  EXPECT_GE(watched_ns, hang_ns / 2);  // the first look may come late
}

TEST_F(UsageTest, TellsAgainWhatWasNotKept) {
  options_.usage_period_ns = 100 * kNsPerMs;
  sink_.keeps_usage = false;
  Start();
  StalledThread thread(Dispatch([&](const StopFlag& stop) { testing::WaitForLock(stop); }));
  ASSERT_TRUE(testing::WaitUntil([&] { return sink_.usages().size() >= 3; }));
  std::vector<testing::RecordedUsage> usages = sink_.usages();
  EXPECT_EQ(usages[0].id, usages[2].id);
  EXPECT_EQ(usages[0].begin_wall_ms, usages[2].begin_wall_ms);
  EXPECT_GT(usages[2].loops.at("loop").watched_ns, usages[0].loops.at("loop").watched_ns);
  sink_.keeps_usage = true;
  size_t so_far = sink_.usages().size();
  ASSERT_TRUE(testing::WaitUntil([&] { return sink_.usages().size() >= so_far + 3; }));
  EXPECT_NE(sink_.usages().back().id, usages[0].id);
}

TEST_F(UsageTest, TellsNothingWhereNothingIsWatchedOrWanted) {
  Start();
  EXPECT_TRUE(testing::WaitUntil([&] { return sink_.rounds() > 0; }));
  EXPECT_TRUE(watchdog_->TryStop());
  options_.usage_period_ns = 0;
  Start();
  { StalledThread thread(Dispatch(testing::Spin)); }
  EXPECT_TRUE(watchdog_->TryStop());
  watchdog_.reset();
  EXPECT_TRUE(sink_.usages().empty());
}

TEST_F(UsageTest, CountsChecksWithoutAReport) {
  Start();
  {
    StalledThread thread(Dispatch([&](const StopFlag& stop) { testing::WaitForLock(stop); }));
    ASSERT_TRUE(testing::WaitUntil([&] { return watchdog_->counters().unchanged_checks.value() >= 2; }));
  }
  EXPECT_TRUE(watchdog_->TryStop());
  const uint64_t unchanged = watchdog_->counters().unchanged_checks.value();
  watchdog_.reset();
  ASSERT_EQ(sink_.usages().size(), 1u);
  EXPECT_EQ(sink_.usages()[0].suppressed.at(static_cast<size_t>(policies::SuppressedReason::kUnchangedStack)),
            unchanged);
}

TEST_F(UsageTest, TellsTheListenerOfDispatchesThatAreLongButNoHangs) {
  options_.threshold_ns = 10'000 * kNsPerMs;
  options_.sensitive_ns = 50 * kNsPerMs;
  Start();
  int loop_tid = 0;
  StalledThread thread([&](const StopFlag& stop) {
    loop_tid = gettid();
    WatchedLoop* loop = registry_->Add("ui", gettid());
    WarmUp(loop);
    Sleep(loop, "first", 80);
    Sleep(loop, "second", 100);
    while (!stop.load()) RunShortDispatch(loop);
    registry_->Remove(loop);
  });
  auto told = [&] {
    auto all = listener_.All();
    std::erase_if(all, [](const auto& one) { return one.first == "short"; });  // preempted
    return all;
  };
  ASSERT_TRUE(testing::WaitUntil([&] { return told().size() >= 2; }));
  auto all = told();
  ASSERT_EQ(all.size(), 2u);
  EXPECT_EQ(all[0].first, "first");
  EXPECT_GE(all[0].second, 80 * kNsPerMs / 100 * 98);
  EXPECT_EQ(all[1].first, "second");
  EXPECT_GE(all[1].second, 100 * kNsPerMs / 100 * 98);
  std::lock_guard lock(listener_.mutex);
  for (int tid : listener_.tids) EXPECT_NE(tid, loop_tid);
  EXPECT_TRUE(sink_.hangs().empty());
}

TEST_F(WatchdogTest, EndsTheHangOfAThreadThatExits) {
  Start();
  std::thread thread([&] {
    WatchedLoop* loop = registry_->Add("short-lived", gettid());
    loop->probe.Begin("its last");
    WaitForHangs(1);
    registry_->RemoveThread(gettid());
  });
  thread.join();
  EXPECT_TRUE(testing::WaitUntil([&] { return sink_.ends().size() == 1; }));
}

TEST_F(WatchdogTest, StopsAtOnceWhileALoopIsInADispatch) {
  options_.threshold_ns = 3600 * base::kNsPerSecond;
  Start();
  StalledThread thread(Dispatch(testing::Spin));
  EXPECT_TRUE(testing::WaitUntil([&] { return sink_.rounds() > 0; }));
  auto begin = std::chrono::steady_clock::now();
  EXPECT_TRUE(watchdog_->TryStop());
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(10));
}

TEST_F(WatchdogTest, RunsOnAThreadOfItsOwnWithEverySignalBlocked) {
  Start();
  ASSERT_TRUE(testing::WaitUntil([&] { return sink_.rounds() > 0; }));
  int found = 0;
  base::ForEachThread([&](int tid) {
    char name[16];
    stack::ReadThreadName(tid, name, sizeof name);
    if (std::string(name) != "lagwatch") return true;
    ++found;
    for (int signal_number : {SIGTERM, SIGINT, SIGALRM, SIGPROF, SIGUSR1, SIGRTMIN}) {
      EXPECT_TRUE(stack::IsSignalBlocked(tid, signal_number)) << signal_number;
    }
    return true;
  });
  EXPECT_EQ(found, 1);
}

}  // namespace
}  // namespace lagwatch::watchdog
