// SPDX-License-Identifier: Apache-2.0
// The watchdog as it is, on the real clock. Durations are compared with each other, never with
// a machine's promises.
#include "watchdog/watchdog.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <mutex>
#include <string>
#include <thread>

#include "base/process/proc_file.h"
#include "tests/testing/process.h"
#include "tests/testing/stalls.h"
#include "tests/watchdog/watchdog_testing.h"

namespace lagwatch::watchdog {
namespace {

using base::kNsPerMs;
using testing::StalledThread;
using testing::StopFlag;

TEST_F(WatchdogTest, ReportsASpinWithItsFunctionItsCpuAndItsDuration) {
  Start();
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

[[gnu::noinline]] void SpinUntil(std::chrono::steady_clock::time_point end) {
  while (std::chrono::steady_clock::now() < end) {
    for (int i = 0; i < 100'000; ++i) asm volatile("");
  }
}

TEST_F(WatchdogTest, BlamesAtTheEndWhatTookMostOfTheHang) {
  options_.check_period_ns = 3600 * base::kNsPerSecond;  // nothing but the end comes after the first report
  Start();
  StalledThread thread(Dispatch([&](const StopFlag&) {
    const auto begin = std::chrono::steady_clock::now();
    StopFlag first_is_over{false};
    std::thread timer([&] {
      WaitForHangs(1);
      first_is_over = true;
    });
    testing::Spin(first_is_over);
    timer.join();
    const auto now = std::chrono::steady_clock::now();
    SpinUntil(now + 3 * (now - begin));
  }));
  ASSERT_TRUE(testing::WaitUntil([&] { return sink_.ends().size() >= 2; }));
  const auto hangs = sink_.hangs();
  ASSERT_EQ(hangs.size(), 2u);
  EXPECT_EQ(hangs[1].hang_id, hangs[0].id);
  EXPECT_EQ(hangs[1].innermost_function, reinterpret_cast<uint64_t>(&SpinUntil));
  EXPECT_EQ(hangs[1].threads, 0u);
  EXPECT_EQ(sink_.blamed(), std::vector{hangs[1].id});
  EXPECT_EQ(sink_.ends()[1].second, sink_.ends()[0].second);
}

TEST_F(WatchdogTest, BlamesTheEarlierReportThatIsRight) {
  Start();
  StalledThread thread(Dispatch([&](const StopFlag&) {
    const auto begin = std::chrono::steady_clock::now();
    StopFlag first_is_over{false};
    std::thread timer([&] {
      WaitForHangs(1);
      std::this_thread::sleep_for(2 * (std::chrono::steady_clock::now() - begin));
      first_is_over = true;
    });
    testing::Spin(first_is_over);
    timer.join();
    const auto now = std::chrono::steady_clock::now();
    SpinUntil(now + (now - begin) / 2);
  }));
  ASSERT_TRUE(testing::WaitUntil([&] { return !sink_.ends().empty(); }));
  const auto hangs = sink_.hangs();
  // The machine may be so busy that no check comes in the second part.
  for (const base::Uuid& blamed : sink_.blamed()) {
    const auto hang = std::ranges::find(hangs, blamed, &testing::RecordedHang::id);
    ASSERT_NE(hang, hangs.end());
    EXPECT_EQ(hang->innermost_function, reinterpret_cast<uint64_t>(&testing::Spin));
  }
  EXPECT_EQ(sink_.blamed().size(), hangs.size() == 1 ? 0u : 1u);
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
  base::ForEachThread(base::Process::Own(), [&](int tid) {
    char name[16];
    stack::ReadThreadName(base::OwnThread(tid), name, sizeof name);
    if (std::string(name) != "lagwatch") return true;
    ++found;
    for (int signal_number : {SIGTERM, SIGINT, SIGALRM, SIGPROF, SIGUSR1, SIGRTMIN}) {
      EXPECT_TRUE(stack::IsSignalBlocked(base::OwnThread(tid), signal_number)) << signal_number;
    }
    return true;
  });
  EXPECT_EQ(found, 1);
}

// Holds the watchdog up between two rounds, as a disk or a busy machine may.
class HeldSink final : public HangSink {
 public:
  bool OnHang(const HangEvent& event) override { return kept.OnHang(event); }
  void OnHangEnd(const base::Uuid& event_id, int64_t duration_ns) override {
    kept.OnHangEnd(event_id, duration_ns);
  }
  void OnRoundDone() override {
    is_waiting = is_held.load();
    while (is_held) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }

  testing::RecordingSink kept;
  std::atomic<bool> is_held{false};
  std::atomic<bool> is_waiting{false};
};

TEST_F(WatchdogTest, TheEndOfTheProcessIsNotWaitedForLongAndIsNoPartOfAHang) {
  capturer_ = stack::StackCapturer::Create({}, stack::CreateTableUnwinder().value()).value();
  HeldSink sink;
  Watchdog watchdog(options_, registry_.get(), capturer_.get(), &sink);
  ASSERT_TRUE(watchdog.Start().ok());
  const base::Clock& clock = base::SystemClock();
  const int64_t begin_ns = clock.MonoNs();
  StalledThread thread(Dispatch(testing::Spin));
  ASSERT_TRUE(testing::WaitUntil([&] { return !sink.kept.hangs().empty(); }));
  sink.is_held = true;
  ASSERT_TRUE(testing::WaitUntil([&] { return sink.is_waiting.load(); }));

  EXPECT_FALSE(watchdog.EndWithProcess(kNsPerMs, kNsPerMs));
  const int64_t longest_ns = clock.MonoNs() - begin_ns;
  std::this_thread::sleep_for(std::chrono::nanoseconds(longest_ns));
  sink.is_held = false;
  EXPECT_TRUE(watchdog.TryStop(StopReason::kProcessEnds));
  ASSERT_EQ(sink.kept.ends().size(), 1u);
  EXPECT_LE(sink.kept.ends()[0].second, longest_ns);
}

TEST_F(WatchdogTest, TheEndOfTheProcessMakesNoHang) {
  capturer_ = stack::StackCapturer::Create({}, stack::CreateTableUnwinder().value()).value();
  HeldSink sink;
  Watchdog watchdog(options_, registry_.get(), capturer_.get(), &sink);
  ASSERT_TRUE(watchdog.Start().ok());
  sink.is_held = true;
  WatchedLoop* loop = registry_->Add("loop", gettid());
  loop->probe.Begin("exit");
  EXPECT_FALSE(watchdog.EndWithProcess(0, 0));
  std::this_thread::sleep_for(std::chrono::nanoseconds(2 * options_.threshold_ns));
  sink.is_held = false;
  EXPECT_TRUE(watchdog.TryStop(StopReason::kProcessEnds));
  EXPECT_TRUE(sink.kept.hangs().empty());
  loop->probe.End();
  registry_->Remove(loop);
}

}  // namespace
}  // namespace lagwatch::watchdog
