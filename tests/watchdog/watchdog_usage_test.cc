// SPDX-License-Identifier: Apache-2.0
// The usage that a watchdog on the real clock reports.
#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "tests/testing/process.h"
#include "tests/testing/stalls.h"
#include "tests/watchdog/watchdog_testing.h"
#include "watchdog/events/hang_listener.h"

namespace lagwatch::watchdog {
namespace {

using base::kNsPerMs;
using testing::StalledThread;
using testing::StopFlag;

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

}  // namespace
}  // namespace lagwatch::watchdog
