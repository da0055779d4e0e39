// SPDX-License-Identifier: Apache-2.0
#include "policies/frame_levels.h"

#include <gtest/gtest.h>

#include "tests/policies/milliseconds.h"

namespace lagwatch::policies {
namespace {

TEST(FrameLevels, AFrameDropsTheWholeIntervalsThatItIsLate) {
  EXPECT_EQ(DroppedFrames(-5 * kMs, 10 * kMs), 0u);
  EXPECT_EQ(DroppedFrames(10 * kMs - 1, 10 * kMs), 0u);
  EXPECT_EQ(DroppedFrames(10 * kMs, 10 * kMs), 1u);
  EXPECT_EQ(DroppedFrames(299 * kMs, 10 * kMs), 29u);
  EXPECT_EQ(DroppedFrames(100 * kMs, 0), 0u);
  // The same time is more frames on a faster display.
  EXPECT_EQ(DroppedFrames(100 * kMs, 8'333'333), 12u);
  EXPECT_EQ(DroppedFrames(100 * kMs, 16'666'667), 5u);
}

TEST(FrameLevels, BeginAtTheirNumbers) {
  EXPECT_EQ(FrameLevelOf(0), FrameLevel::kBest);
  EXPECT_EQ(FrameLevelOf(2), FrameLevel::kBest);
  EXPECT_EQ(FrameLevelOf(3), FrameLevel::kNormal);
  EXPECT_EQ(FrameLevelOf(8), FrameLevel::kNormal);
  EXPECT_EQ(FrameLevelOf(9), FrameLevel::kMiddle);
  EXPECT_EQ(FrameLevelOf(23), FrameLevel::kMiddle);
  EXPECT_EQ(FrameLevelOf(24), FrameLevel::kHigh);
  EXPECT_EQ(FrameLevelOf(41), FrameLevel::kHigh);
  EXPECT_EQ(FrameLevelOf(42), FrameLevel::kFrozen);
  EXPECT_EQ(FrameLevelOf(UINT64_MAX), FrameLevel::kFrozen);
}

TEST(FrameLevels, SumsAreTakenApartAndPutTogether) {
  FrameTotals before{.frames = 1, .dropped = 2, .by_level = {1}, .by_stage_ns = {3, 4}};
  FrameTotals more{.frames = 2, .dropped = 50, .by_level = {0, 1, 0, 0, 1}, .by_stage_ns = {0, 5, 6}};
  FrameTotals after = before;
  after += more;
  EXPECT_EQ(after.frames, 3u);
  EXPECT_EQ(after.Since(before).dropped, more.dropped);
  EXPECT_EQ(after.Since(before).by_level, more.by_level);
  EXPECT_EQ(after.Since(before).by_stage_ns, more.by_stage_ns);
}

class RefreshIntervalTest : public ::testing::Test {
 protected:
  void AddAfter(int64_t difference_ns) { measured_.Add(now_ns_ += difference_ns); }
  void AddAfter(int64_t difference_ns, int count) {
    for (int i = 0; i < count; ++i) AddAfter(difference_ns);
  }

  int64_t now_ns_ = 77 * kMs;
  RefreshInterval measured_;
};

TEST_F(RefreshIntervalTest, Is60HzUntilItIsKnown) {
  AddAfter(4 * kMs, 8);
  EXPECT_EQ(measured_.interval_ns(), RefreshInterval::kDefaultNs);
  AddAfter(4 * kMs);
  EXPECT_EQ(measured_.interval_ns(), 4 * kMs);
}

TEST_F(RefreshIntervalTest, IsNotMisledByDroppedFramesPausesAndJitter) {
  for (int i = 0; i < 20; ++i) {
    AddAfter(5 * kMs, 2);  // two of five are in time
    AddAfter(10 * kMs);
    AddAfter(35 * kMs);
    AddAfter(900'000'000);
    AddAfter(3600'000 * kMs);
  }
  AddAfter(4'700'000);
  AddAfter(0);
  AddAfter(-1);
  EXPECT_EQ(measured_.interval_ns(), 5 * kMs);
}

TEST_F(RefreshIntervalTest, FollowsADisplayThatChanges) {
  AddAfter(16 * kMs, 100);
  EXPECT_EQ(measured_.interval_ns(), 16 * kMs);
  AddAfter(8 * kMs, 40);
  EXPECT_EQ(measured_.interval_ns(), 8 * kMs);
  AddAfter(16 * kMs, 40);
  EXPECT_EQ(measured_.interval_ns(), 16 * kMs);
}

}  // namespace
}  // namespace lagwatch::policies
