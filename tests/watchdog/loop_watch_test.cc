// SPDX-License-Identifier: Apache-2.0
// The watch's schedule, on a clock that the test turns: real captures of a real thread, no waiting.
#include "watchdog/loop_watch.h"

#include <gtest/gtest.h>
#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include "base/process/process.h"
#include "tests/testing/process.h"
#include "tests/testing/stalls.h"
#include "tests/watchdog/loop_watch_testing.h"
#include "watchdog/loops/outside_looks.h"

namespace lagwatch::watchdog {
namespace {

using base::kNsPerMs;
using base::kNsPerSecond;

class RecordingListener final : public HangListener {
 public:
  void OnHangBegin(const HangNotice& hang) override { Add("begin", hang); }
  void OnHangEnd(const HangNotice& hang) override { Add("end", hang); }
  void OnFiltered(const HangNotice& hang, FilterReason reason) override {
    Add("filtered " + std::to_string(static_cast<int>(reason)), hang);
  }
  std::vector<std::string> notices;

 private:
  void Add(const std::string& what, const HangNotice& hang) {
    notices.push_back(what + " " + hang.loop_name + " " + hang.tag + " " +
                      (hang.level == HangLevel::kAnr ? "anr " : "lag ") +
                      std::to_string(hang.elapsed_ns / kNsPerMs));
  }
};

TEST_F(LoopWatchTest, DoesNotDisturbADispatchThatEndsBeforeItsWindow) {
  BeginDispatch("short");
  RunUntil(999 * kNsPerMs);
  EndDispatch();
  RunUntil(5 * kNsPerSecond);
  EXPECT_EQ(capturer_->counters().captures.value(), 0u);
  EXPECT_TRUE(sink_.hangs().empty());
}

// From outside, the end of a dispatch is known with the next look only.
TEST_F(LoopWatchTest, FromOutsideReportsOnlyAfterALookThatWasMadeAfterTheThreshold) {
  capturer_->LookAt(base::Process::Other(getpid()));
  BeginDispatch("click");
  outside_looked_ns.store(clock_.now_ns + options_.threshold_ns - 1);
  RunUntil(3 * options_.threshold_ns);
  EXPECT_EQ(counters_.reports.value(), 0u);
  outside_looked_ns.store(start_ns_ + 2 * options_.threshold_ns);
  RunUntil(4 * options_.threshold_ns);
  EXPECT_EQ(counters_.reports.value(), 1u);
}

// The thread is in exit(), and maybe waits for the watchdog.
TEST_F(LoopWatchTest, CapturesNothingOfTheEndOfTheProcess) {
  std::atomic<int64_t> end_ns{INT64_MAX};
  WatchTools ending = tools();
  ending.end_ns = &end_ns;
  watch_.Look(loop_, ending);
  BeginDispatch("last");
  watch_.Look(loop_, ending);
  clock_.now_ns += 2 * options_.threshold_ns;
  end_ns = clock_.now_ns;
  clock_.now_ns += options_.threshold_ns;
  watch_.Look(loop_, ending);
  ASSERT_EQ(sink_.hangs().size(), 1u);
  EXPECT_EQ(sink_.hangs()[0].elapsed_ns, 2 * options_.threshold_ns);
  EXPECT_EQ(sink_.hangs()[0].texts.at("no_stack_reason"), "watchdog_late");
}

TEST_F(LoopWatchTest, TakesTheRingsSamplesBeforeTheThreshold) {
  BeginDispatch("long");
  RunUntil(2 * kNsPerSecond);
  ASSERT_EQ(sink_.hangs().size(), 1u);
  testing::RecordedHang hang = sink_.hangs()[0];
  EXPECT_EQ(hang.samples, 20u);
  EXPECT_EQ(samples_at_ms_.front(), 1000);
  EXPECT_LE(samples_at_ms_.back(), 2000);  // one without a processor may still be asked for an earlier one
  EXPECT_EQ(hang.elapsed_ns, 2 * kNsPerSecond);
  EXPECT_EQ(hang.tag, "long");
  EXPECT_EQ(hang.loop, "ui");
  EXPECT_EQ(hang.innermost_function, reinterpret_cast<uint64_t>(&testing::Spin));
  EXPECT_EQ(hang.ordinal, 0u);
  EXPECT_EQ(hang.id, hang.hang_id);
  EXPECT_GE(hang.threads, 1u);
}

TEST_F(LoopWatchTest, LooksAtAnUnchangedStackInFibonacciIntervals) {
  BeginDispatch("long");
  RunUntil(200 * kNsPerSecond);
  EXPECT_EQ(sink_.hangs().size(), 1u);
  // Reported at 2 s; then after 1 s, then 1, 2, 3, 5, 8, 13, 21, 34, 55 s, then the cap of 60 s.
  std::vector<int64_t> expected_s = {3, 4, 5, 7, 10, 15, 23, 36, 57, 91, 146};
  std::vector<int64_t> expected_ms;
  for (int64_t s : expected_s) expected_ms.push_back(s * 1000);
  EXPECT_EQ(unchanged_at_ms_, expected_ms);
}

TEST_F(LoopWatchTest, AShortWindowHasAsManySamplesAsALongOne) {
  options_.threshold_ns = 500 * kNsPerMs;
  BeginDispatch("short");
  RunUntil(600 * kNsPerMs);
  ASSERT_EQ(sink_.hangs().size(), 1u);
  EXPECT_EQ(sink_.hangs()[0].samples, 20u);
  EXPECT_EQ(samples_at_ms_.front(), 250);
}

TEST_F(LoopWatchTest, ALaterCheckLooksAtTheSamplesOfTheEarlierOnesToo) {
  options_.anr_threshold_ns = 2100 * kNsPerMs;
  BeginDispatch("long");
  RunUntil(2200 * kNsPerMs);
  ASSERT_EQ(sink_.hangs().size(), 2u);
  EXPECT_EQ(sink_.hangs()[1].samples, 20u);
}

TEST_F(LoopWatchTest, DiscardsNoSampleOfALongHang) {
  BeginDispatch("long");
  RunUntil(30 * kNsPerSecond);
  EXPECT_GE(unchanged_at_ms_.size(), 5u);
  EXPECT_EQ(counters_.samples_discarded.value(), 0u);
}

TEST_F(LoopWatchTest, CapsTheInterval) {
  options_.recheck_cap_ns = 4 * kNsPerSecond;
  BeginDispatch("long");
  RunUntil(22 * kNsPerSecond);
  EXPECT_EQ(unchanged_at_ms_, (std::vector<int64_t>{3000, 4000, 5000, 7000, 10000, 14000, 18000, 22000}));
}

TEST_F(LoopWatchTest, AFreezeOfTenMinutesIsOneReport) {
  BeginDispatch("long");
  RunUntil(600 * kNsPerSecond);
  EndDispatch();
  RunUntil(601 * kNsPerSecond);
  EXPECT_EQ(sink_.hangs().size(), 1u);
  ASSERT_EQ(sink_.ends().size(), 1u);
  EXPECT_GE(sink_.ends()[0].second, 600 * kNsPerSecond);
  EXPECT_LE(sink_.ends()[0].second, 600 * kNsPerSecond + options_.sample_interval_ns);
  EXPECT_EQ(unchanged_at_ms_.size(), 18u);  // the eleven of the test above, and one a minute after them
}

std::atomic<bool> g_takes_other_way{false};
std::atomic<bool> g_is_on_other_way{false};

LAGWATCH_ONE_STACK void SpinOneWay(const testing::StopFlag& stop) {
  while (!LAGWATCH_IS_SET(stop) && !LAGWATCH_IS_SET(g_takes_other_way)) {
  }
  asm volatile("");
}
LAGWATCH_ONE_STACK void SpinOtherWay(const testing::StopFlag& stop) {
  while (!LAGWATCH_IS_SET(stop) && LAGWATCH_IS_SET(g_takes_other_way)) {
  }
  asm volatile("");
}

TEST_F(LoopWatchTest, TwoStacksThatTakeTurnsAreTwoReports) {
  testing::StalledThread alternating([](const testing::StopFlag& stop) {
    while (!stop) {
      SpinOneWay(stop);
      g_is_on_other_way = true;
      SpinOtherWay(stop);
      g_is_on_other_way = false;
    }
  });
  loop_ = registry_->Add("alternating", alternating.tid());
  BeginDispatch("long");
  for (int turn = 0; turn < 20; ++turn) {
    g_takes_other_way = turn % 2 != 0;
    ASSERT_TRUE(testing::WaitUntil([] { return g_is_on_other_way == g_takes_other_way; }));
    std::this_thread::sleep_for(std::chrono::milliseconds(5));  // from there into the loop
    RunUntil((10 + 30 * turn) * kNsPerSecond);
  }
  EXPECT_EQ(sink_.hangs().size(), 2u);
  EXPECT_GE(unchanged_at_ms_.size(), 10u);
}

TEST_F(LoopWatchTest, AThreadThatCannotBeCapturedHasNoOtherStack) {
  static std::atomic<bool> blocks_signals{false};
  static std::atomic<bool> has_blocked_signals{false};
  testing::StalledThread stalled([](const testing::StopFlag& stop) {
    sigset_t all;
    sigfillset(&all);
    while (!stop && !blocks_signals) {
    }
    pthread_sigmask(SIG_BLOCK, &all, nullptr);
    has_blocked_signals = true;
    while (!stop) {
    }
  });
  options_.ring_size = 3;
  loop_ = registry_->Add("unreachable", stalled.tid());
  BeginDispatch("long");
  RunUntil(3 * kNsPerSecond);
  const size_t reports = sink_.hangs().size();
  EXPECT_GE(reports, 1u);
  blocks_signals = true;
  ASSERT_TRUE(testing::WaitUntil([] { return has_blocked_signals.load(); }));
  RunUntil(30 * kNsPerSecond);
  EXPECT_EQ(sink_.hangs().size(), reports);
}

TEST_F(LoopWatchTest, TellsOfTheEndOfAHangOnce) {
  BeginDispatch("long");
  RunUntil(4321 * kNsPerMs);
  EndDispatch();
  RunUntil(10 * kNsPerSecond);
  ASSERT_EQ(sink_.ends().size(), 1u);
  EXPECT_EQ(sink_.ends()[0].first, sink_.hangs()[0].id);
  // A dispatch without time stamps is dated by when it was seen to be over: at most one look late.
  EXPECT_GE(sink_.ends()[0].second, 4321 * kNsPerMs);
  EXPECT_LE(sink_.ends()[0].second, (4321 + 50) * kNsPerMs);
}

TEST_F(LoopWatchTest, ReportsTheNextHangAnewAlthoughItsStackIsTheSame) {
  BeginDispatch("first");
  RunUntil(3 * kNsPerSecond);
  EndDispatch();
  BeginDispatch("second");
  RunUntil(9 * kNsPerSecond);
  ASSERT_EQ(sink_.hangs().size(), 2u);
  EXPECT_EQ(sink_.hangs()[1].tag, "second");
  EXPECT_NE(sink_.hangs()[0].hang_id, sink_.hangs()[1].hang_id);
  EXPECT_EQ(sink_.ends().size(), 1u);
}

TEST_F(LoopWatchTest, EndsAHangWhoseLoopIsGone) {
  BeginDispatch("long");
  RunUntil(3 * kNsPerSecond);
  registry_->Remove(loop_);
  watch_.Forget(*loop_, tools());
  EXPECT_EQ(sink_.ends().size(), 1u);
}

TEST_F(LoopWatchTest, SurvivesATagThatCannotBeRead) {
  BeginDispatch(reinterpret_cast<const char*>(16));
  RunUntil(2 * kNsPerSecond);
  ASSERT_EQ(sink_.hangs().size(), 1u);
  EXPECT_EQ(sink_.hangs()[0].tag, "");
}

TEST_F(LoopWatchTest, KeepsToTheSmallestThreshold) {
  options_.threshold_ns = 16 * kNsPerMs;
  BeginDispatch("short");
  RunUntil(16 * kNsPerMs);
  ASSERT_EQ(sink_.hangs().size(), 1u);
  EXPECT_EQ(samples_at_ms_.front(), 8);
}

TEST_F(LoopWatchTest, RaisesAnUnchangedHangToAnAnrOnce) {
  options_.anr_threshold_ns = 5500 * kNsPerMs;
  BeginDispatch("long");
  RunUntil(60 * kNsPerSecond);
  ASSERT_EQ(sink_.hangs().size(), 2u);
  testing::RecordedHang hang = sink_.hangs()[0];
  testing::RecordedHang anr = sink_.hangs()[1];
  EXPECT_EQ(hang.level, HangLevel::kHang);
  EXPECT_EQ(anr.level, HangLevel::kAnr);
  EXPECT_EQ(anr.kind, HangKind::kHang);
  EXPECT_EQ(anr.hang_id, hang.id);
  EXPECT_EQ(anr.ordinal, 1u);
  EXPECT_EQ(anr.elapsed_ns, 5500 * kNsPerMs);
  EXPECT_GE(anr.samples, 1u);
  EXPECT_EQ(counters_.hangs.value(), 1u);
  EndDispatch();
  RunUntil(62 * kNsPerSecond);
  EXPECT_EQ(sink_.ends().size(), 2u);
}

TEST_F(LoopWatchTest, RaisesNothingThatEndsBeforeTheSecondThreshold) {
  options_.anr_threshold_ns = 5 * kNsPerSecond;
  BeginDispatch("long");
  RunUntil(4999 * kNsPerMs);
  EndDispatch();
  RunUntil(20 * kNsPerSecond);
  ASSERT_EQ(sink_.hangs().size(), 1u);
  EXPECT_EQ(sink_.hangs()[0].level, HangLevel::kHang);
}

TEST_F(LoopWatchTest, IsAnAnrAtOnceWhenBothThresholdsAreTheSame) {
  options_.anr_threshold_ns = options_.threshold_ns;
  BeginDispatch("long");
  RunUntil(20 * kNsPerSecond);
  ASSERT_EQ(sink_.hangs().size(), 1u);
  EXPECT_EQ(sink_.hangs()[0].level, HangLevel::kAnr);
}

TEST_F(LoopWatchTest, KeepsTheLoopsOwnThresholds) {
  loop_->limits.SetThresholds({300 * kNsPerMs, 700 * kNsPerMs});
  loop_->limits.SetWeight(7);
  BeginDispatch("long");
  RunUntil(1500 * kNsPerMs);
  ASSERT_EQ(sink_.hangs().size(), 2u);
  EXPECT_EQ(sink_.hangs()[0].elapsed_ns, 300 * kNsPerMs);
  EXPECT_EQ(sink_.hangs()[1].elapsed_ns, 700 * kNsPerMs);
  EXPECT_EQ(sink_.hangs()[1].facts["loop_weight"], 7);
}

TEST_F(LoopWatchTest, AppliesALoweredThresholdToTheDispatchUnderWay) {
  BeginDispatch("long");
  RunUntil(500 * kNsPerMs);
  EXPECT_TRUE(sink_.hangs().empty());
  loop_->limits.SetThresholds({100 * kNsPerMs, 0});
  next_ns_ = clock_.now_ns;
  RunUntil(501 * kNsPerMs);
  EXPECT_EQ(sink_.hangs().size(), 1u);
}

TEST_F(LoopWatchTest, AppliesARaisedThresholdToTheDispatchUnderWay) {
  BeginDispatch("long");
  RunUntil(1500 * kNsPerMs);
  EXPECT_FALSE(samples_at_ms_.empty());
  samples_at_ms_.clear();
  loop_->limits.SetThresholds({10 * kNsPerSecond, 0});
  RunUntil(8990 * kNsPerMs);
  EXPECT_TRUE(sink_.hangs().empty());
  EXPECT_TRUE(samples_at_ms_.empty());
  RunUntil(10 * kNsPerSecond);
  EXPECT_EQ(sink_.hangs().size(), 1u);
}

TEST_F(LoopWatchTest, GivesTheNextLoopOfAPlaceTheOptionsThresholds) {
  loop_->limits.SetThresholds({100 * kNsPerMs, 0});
  registry_->Remove(loop_);
  loop_ = registry_->Add("next", stalled_.tid());
  BeginDispatch("short for it");
  RunUntil(1500 * kNsPerMs);
  EndDispatch();
  RunUntil(3 * kNsPerSecond);
  EXPECT_TRUE(sink_.hangs().empty());
}

TEST_F(LoopWatchTest, TellsAListenerOfBeginRaiseFilteredCheckAndEnd) {
  RecordingListener listener;
  options_.listener = &listener;
  options_.anr_threshold_ns = 3500 * kNsPerMs;
  BeginDispatch("long");
  RunUntil(3890 * kNsPerMs);
  EndDispatch();
  RunUntil(3945 * kNsPerMs);
  ASSERT_EQ(listener.notices.size(), 4u);
  EXPECT_TRUE(listener.notices.back().starts_with("end ui long anr 39"));  // at most one look late
  listener.notices.pop_back();
  EXPECT_EQ(listener.notices,
            (std::vector<std::string>{"begin ui long lag 2000", "filtered 1 ui long lag 3000",
                                      "begin ui long anr 3500"}));
}

TEST_F(LoopWatchTest, TellsAListenerNothingOfADispatchInTime) {
  RecordingListener listener;
  options_.listener = &listener;
  BeginDispatch("short");
  RunUntil(1900 * kNsPerMs);
  EndDispatch();
  RunUntil(5 * kNsPerSecond);
  EXPECT_TRUE(listener.notices.empty());
}

TEST_F(LoopWatchTest, ReportsOneSlowFrameInTenSecondsAndCountsAll) {
  options_.slow_frame_ns = 120 * kNsPerMs;
  // Frames of 200 ms, one after the other.
  constexpr int64_t kFrameNs = 200 * kNsPerMs;
  for (int i = 0; i < 100; ++i) {
    loop_->frames.Begin(start_ns_ + i * kFrameNs, 0);
    RunUntil((i + 1) * kFrameNs - 1);
    loop_->frames.End(start_ns_ + (i + 1) * kFrameNs);
  }
  RunUntil(101 * kFrameNs);
  // At 0.12 s and at the first frame that is over the threshold 10 s later.
  ASSERT_EQ(sink_.hangs().size(), 2u);
  EXPECT_EQ(sink_.hangs()[0].elapsed_ns, 120 * kNsPerMs);
  EXPECT_EQ(sink_.ends().size(), 2u);
  for (const auto& end : sink_.ends()) EXPECT_EQ(end.second, kFrameNs);
  EXPECT_EQ(sink_.frames("ui").frames, 100u);
}

TEST_F(LoopWatchTest, LeavesSlowFramesAloneWhenThatIsOff) {
  options_.slow_frame_ns = 0;
  loop_->frames.Begin(start_ns_, 0);
  RunUntil(5 * kNsPerSecond);
  loop_->frames.End(clock_.now_ns);
  RunUntil(7 * kNsPerSecond);
  EXPECT_TRUE(sink_.hangs().empty());
  EXPECT_EQ(capturer_->counters().captures.value(), 0u);
  EXPECT_EQ(sink_.frames("ui").frames, 1u);
}

TEST_F(LoopWatchTest, CountsNoFrameInWhichTheProcessWasStopped) {
  options_.slow_frame_ns = 0;
  auto make_frame = [&](int64_t duration_ns) {
    loop_->frames.Begin(clock_.now_ns, 0);
    RunUntil(clock_.now_ns - start_ns_ + duration_ns);
    loop_->frames.End(clock_.now_ns);
  };
  RunUntil(1 * kNsPerSecond);
  make_frame(5 * kNsPerMs);
  RunUntil(3 * kNsPerSecond);
  EXPECT_EQ(sink_.frames("ui").frames, 1u);
  // One that goes on when that is seen.
  loop_->frames.Begin(clock_.now_ns, 0);
  clock_.now_ns += 20 * kNsPerSecond;
  watch_.Discount({.stopped_ns = 20 * kNsPerSecond});
  RunUntil(25 * kNsPerSecond);
  loop_->frames.End(clock_.now_ns);
  RunUntil(27 * kNsPerSecond);
  // One that is over by then.
  make_frame(5 * kNsPerMs);
  watch_.Discount({.stopped_ns = 5 * kNsPerMs});
  RunUntil(29 * kNsPerSecond);
  EXPECT_EQ(sink_.frames("ui").frames, 1u);
  make_frame(5 * kNsPerMs);
  RunUntil(31 * kNsPerSecond);
  EXPECT_EQ(sink_.frames("ui").frames, 2u);
  EXPECT_EQ(sink_.frames("ui").dropped, 0u);
}

// So that a sink that collects frames gets a round to write them in.
TEST_F(LoopWatchTest, IsQuietSomeTimeAfterTheLastFrame) {
  RunUntil(3 * kNsPerSecond);
  EXPECT_TRUE(watch_.IsQuiet(*loop_));
  loop_->frames.Begin(clock_.now_ns, 0);
  EXPECT_FALSE(watch_.IsQuiet(*loop_));
  loop_->frames.End(clock_.now_ns);
  EXPECT_FALSE(watch_.IsQuiet(*loop_));
  RunUntil(5 * kNsPerSecond);
  EXPECT_FALSE(watch_.IsQuiet(*loop_));
  RunUntil(20 * kNsPerSecond);
  EXPECT_TRUE(watch_.IsQuiet(*loop_));
}

}  // namespace
}  // namespace lagwatch::watchdog
