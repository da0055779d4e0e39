// SPDX-License-Identifier: Apache-2.0
#include "watchdog/loops/loop_frames.h"

#include <gtest/gtest.h>

#include <atomic>
#include <numeric>
#include <thread>

#include "base/clock.h"

namespace lagwatch::watchdog {
namespace {

using base::kNsPerMs;
using policies::FrameStage;
using policies::FrameTotals;

LoopFrames::Totals AllTotalsOf(const LoopFrames& frames) {
  LoopFrames::Totals totals;
  EXPECT_TRUE(frames.ReadTotals(&totals));
  return totals;
}

FrameTotals TotalsOf(const LoopFrames& frames) { return AllTotalsOf(frames).all; }

class LoopFramesTest : public ::testing::Test {
 protected:
  // One frame of so long, for a refresh that much before.
  void Make(int64_t duration_ns, int64_t delay_ns = 0) {
    frames_.Begin(now_ns_, now_ns_ - delay_ns);
    now_ns_ += duration_ns;
    frames_.End(now_ns_);
  }
  uint64_t CountOf(policies::FrameLevel level) {
    return TotalsOf(frames_).by_level[static_cast<size_t>(level)];
  }

  int64_t now_ns_ = 1'000'000 * kNsPerMs;
  LoopFrames frames_;
};

TEST_F(LoopFramesTest, CountsWhatAFrameDropsFromItsRefreshOn) {
  frames_.SetRefreshIntervalNs(10 * kNsPerMs);
  Make(9 * kNsPerMs);
  EXPECT_EQ(TotalsOf(frames_).dropped, 0u);
  Make(9 * kNsPerMs, 5 * kNsPerMs);
  EXPECT_EQ(TotalsOf(frames_).dropped, 1u);
  Make(500 * kNsPerMs);
  EXPECT_EQ(TotalsOf(frames_).dropped, 51u);
  EXPECT_EQ(TotalsOf(frames_).frames, 3u);
  EXPECT_EQ(CountOf(policies::FrameLevel::kBest), 2u);
  EXPECT_EQ(CountOf(policies::FrameLevel::kFrozen), 1u);
}

TEST_F(LoopFramesTest, MeasuresTheIntervalUnlessItIsSet) {
  EXPECT_EQ(frames_.refresh_interval_ns(), policies::RefreshInterval::kDefaultNs);
  for (int i = 0; i < 20; ++i) {
    Make(1 * kNsPerMs, kNsPerMs / 2);
    now_ns_ += 4 * kNsPerMs;
  }
  EXPECT_EQ(frames_.refresh_interval_ns(), 5 * kNsPerMs);
  frames_.SetRefreshIntervalNs(1);
  Make(0);
  EXPECT_EQ(frames_.refresh_interval_ns(), policies::RefreshInterval::kShortestNs);
  frames_.SetRefreshIntervalNs(0);
  Make(0);
  EXPECT_EQ(frames_.refresh_interval_ns(), 5 * kNsPerMs);
}

TEST_F(LoopFramesTest, TakesTheBeginForARefreshThatCannotBe) {
  for (int64_t vsync_ns : {int64_t{0}, int64_t{-1}, int64_t{1}, now_ns_ + 1, INT64_MAX}) {
    frames_.Begin(now_ns_, vsync_ns);
    EXPECT_EQ(frames_.Read().vsync_ns, now_ns_);
    frames_.End(now_ns_);
  }
  EXPECT_EQ(TotalsOf(frames_).dropped, 0u);
}

TEST_F(LoopFramesTest, GivesEachStageItsTime) {
  frames_.Begin(100, 0);
  frames_.SetStage(103, FrameStage::kInput);
  frames_.SetStage(110, FrameStage::kDraw);
  frames_.SetStage(150, FrameStage::kInput);
  EXPECT_EQ(frames_.stage(), FrameStage::kInput);
  frames_.End(151);
  frames_.SetStage(900, FrameStage::kLayout);  // in no frame
  frames_.Begin(1000, 0);
  EXPECT_EQ(frames_.stage(), FrameStage::kOther);
  frames_.SetStage(1000, FrameStage::kDraw);
  frames_.End(1002);
  EXPECT_EQ(TotalsOf(frames_).by_stage_ns, (std::array<uint64_t, policies::kFrameStages>{3, 8, 0, 0, 42, 0}));
}

TEST_F(LoopFramesTest, IgnoresFramesInsideAFrameAndStrayEnds) {
  frames_.End(1);
  frames_.Begin(10, 0);
  frames_.Begin(20, 0);
  frames_.SetStage(22, FrameStage::kDraw);
  frames_.End(25);
  EXPECT_EQ(frames_.Read().begin_ns, 10);
  EXPECT_EQ(TotalsOf(frames_).frames, 0u);
  frames_.End(30);
  frames_.End(40);
  EXPECT_EQ(frames_.Read().number, 0u);
  EXPECT_EQ(TotalsOf(frames_).frames, 1u);
  EXPECT_EQ(TotalsOf(frames_).by_stage_ns[0], 20u);
  EXPECT_EQ(frames_.first_end_ns(), 30);
}

TEST_F(LoopFramesTest, KeepsTheSumsUpToTheLastChangeOfScene) {
  Make(10);
  Make(10);
  EXPECT_EQ(AllTotalsOf(frames_).scene_changes, 0u);
  frames_.Begin(now_ns_, 0, 7);
  EXPECT_EQ(AllTotalsOf(frames_).scene, 0u);
  frames_.End(now_ns_);
  frames_.Begin(now_ns_, 0, 7);
  frames_.End(now_ns_);
  EXPECT_EQ(AllTotalsOf(frames_).scene, 7u);
  EXPECT_EQ(AllTotalsOf(frames_).scene_changes, 1u);
  EXPECT_EQ(AllTotalsOf(frames_).before.frames, 2u);
  EXPECT_EQ(AllTotalsOf(frames_).before.by_stage_ns[0], 20u);
  EXPECT_EQ(AllTotalsOf(frames_).all.frames, 4u);
}

TEST_F(LoopFramesTest, KeepsTheDurationOfASlowFrame) {
  Make(200);
  EXPECT_EQ(frames_.SlowDurationNs(1), 0);
  frames_.SetSlowNs(100);
  Make(101);
  Make(50);
  EXPECT_EQ(frames_.SlowDurationNs(2), 101);
  EXPECT_EQ(frames_.SlowDurationNs(3), 0);
}

TEST_F(LoopFramesTest, GoesOnCountingForTheNextLoopInItsPlace) {
  Make(10);
  frames_.Begin(now_ns_, 0);
  frames_.Reset();
  EXPECT_EQ(frames_.Read().number, 0u);
  EXPECT_TRUE(frames_.is_idle());
  frames_.End(now_ns_);
  Make(10);
  EXPECT_EQ(TotalsOf(frames_).frames, 2u);
}

// Each frame adds as much to every sum, so sums that do not go together would show.
TEST_F(LoopFramesTest, AReaderNeverSeesHalfAFrame) {
  frames_.SetRefreshIntervalNs(kNsPerMs);
  std::atomic<bool> stop{false};
  std::atomic<uint64_t> made{0};
  std::thread loop([&] {
    while (!stop.load()) {
      frames_.Begin(now_ns_, 0, made.load() / 10);
      frames_.SetStage(now_ns_, FrameStage::kDraw);
      now_ns_ += kNsPerMs;
      frames_.End(now_ns_);
      made.fetch_add(1);
    }
  });
  FrameTotals last;
  for (uint64_t whole = 0; whole < 1000 || made.load() < 1000;) {
    LoopFrames::Totals read;
    if (!frames_.ReadTotals(&read)) continue;
    ++whole;
    const FrameTotals& totals = read.all;
    ASSERT_EQ(read.before.frames % 10, 0u);
    ASSERT_EQ(read.before.dropped, read.before.frames);
    ASSERT_EQ(read.scene_changes, read.scene);
    ASSERT_EQ(read.before.frames, read.scene * 10);
    ASSERT_GE(totals.frames, last.frames);
    ASSERT_EQ(totals.dropped, totals.frames);
    ASSERT_EQ(std::accumulate(totals.by_level.begin(), totals.by_level.end(), uint64_t{0}), totals.frames);
    ASSERT_EQ(totals.by_stage_ns[static_cast<size_t>(FrameStage::kDraw)], totals.frames * kNsPerMs);
    last = totals;
  }
  stop = true;
  loop.join();
}

}  // namespace
}  // namespace lagwatch::watchdog
