// SPDX-License-Identifier: Apache-2.0
#include "sdk/report/frame_slices.h"

#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <string>
#include <vector>

namespace lagwatch::sdk {
namespace {

using base::kNsPerSecond;

class FrameSlicesTest : public ::testing::Test {
 protected:
  void Add(const char* loop, const char* scene, uint64_t scene_number, uint64_t frames = 1) {
    AddOf(scene_number, loop, scene, scene_number, frames);
  }
  // Frames of one scene that are seen in another.
  void AddOf(uint64_t frames_scene, const char* loop, const char* scene, uint64_t scene_number,
             uint64_t frames) {
    char text[TextCell::kMaxBytes] = {};
    std::memcpy(text, scene, strnlen(scene, sizeof text));
    slices_->Add({.loop_name = loop,
                  .seen_mono_ns = now_ns_,
                  .refresh_interval_ns = 10'000'000,
                  .scene = frames_scene,
                  .frames = {.frames = frames, .dropped = 2 * frames, .by_level = {}, .by_stage_ns = {}}},
                 text, scene_number);
  }
  void Write() {
    slices_->WriteDue(now_ns_, [this](const FrameSlice& slice) { written_.push_back(slice); });
  }
  void WriteAll() {
    slices_->WriteAll([this](const FrameSlice& slice) { written_.push_back(slice); });
  }

  std::unique_ptr<FrameSlices> slices_ = std::make_unique<FrameSlices>();
  int64_t now_ns_ = 5 * kNsPerSecond;
  std::vector<FrameSlice> written_;
};

TEST_F(FrameSlicesTest, SumASceneOverTenSeconds) {
  for (int i = 0; i < 9; ++i) {
    Add("ui", "inbox", 1, 60);
    now_ns_ += kNsPerSecond;
    Write();
  }
  EXPECT_TRUE(written_.empty());
  now_ns_ += kNsPerSecond;
  Write();
  ASSERT_EQ(written_.size(), 1u);
  EXPECT_STREQ(written_[0].loop, "ui");
  EXPECT_STREQ(written_[0].scene, "inbox");
  EXPECT_EQ(written_[0].frames.frames, 540u);
  EXPECT_EQ(written_[0].frames.dropped, 1080u);
  EXPECT_EQ(written_[0].end_mono_ns - written_[0].begin_mono_ns, 8 * kNsPerSecond);
  EXPECT_EQ(written_[0].refresh_interval_ns, 10'000'000);
  now_ns_ += 100 * kNsPerSecond;
  Write();
  EXPECT_EQ(written_.size(), 1u);
}

TEST_F(FrameSlicesTest, KeepScenesAndLoopsApart) {
  Add("ui", "inbox", 1, 5);
  Add("preview", "inbox", 1, 7);
  Add("ui", "editor", 2, 6);
  Add("ui", "inbox", 3, 8);
  WriteAll();
  ASSERT_EQ(written_.size(), 4u);
  uint64_t all = 0;
  for (const FrameSlice& slice : written_) all += slice.frames.frames;
  EXPECT_EQ(all, 26u);
  EXPECT_STREQ(written_[0].scene, "inbox");
  EXPECT_STREQ(written_[1].scene, "editor");
  WriteAll();
  EXPECT_EQ(written_.size(), 4u);
}

TEST_F(FrameSlicesTest, TakeFramesOfTheSceneBefore) {
  Add("ui", "inbox", 1, 5);
  AddOf(1, "ui", "editor", 2, 6);
  Add("ui", "editor", 2, 7);
  AddOf(1, "ui", "editor", 2, 8);  // not known any more
  now_ns_ += 11 * kNsPerSecond;
  AddOf(2, "ui", "inbox", 3, 9);
  Add("ui", "inbox", 3, 10);
  WriteAll();
  ASSERT_EQ(written_.size(), 4u);
  EXPECT_EQ(written_[0].frames.frames, 11u);
  EXPECT_EQ(written_[1].frames.frames, 15u);
  EXPECT_STREQ(written_[1].scene, "editor");
  EXPECT_EQ(written_[2].frames.frames, 9u);
  EXPECT_STREQ(written_[2].scene, "editor");
  EXPECT_EQ(written_[3].frames.frames, 10u);
  EXPECT_STREQ(written_[3].scene, "inbox");
}

TEST_F(FrameSlicesTest, AreWrittenOnceAMinuteWhileTheLoopGoesOn) {
  const int64_t begin_ns = now_ns_;
  std::vector<int64_t> written_at_s;
  for (int i = 0; i < 1500; ++i) {
    Add("ui", "video", 1);
    size_t before = written_.size();
    Write();
    if (written_.size() != before) written_at_s.push_back((now_ns_ - begin_ns) / kNsPerSecond);
    now_ns_ += kNsPerSecond / 10;
  }
  ASSERT_GE(written_at_s.size(), 2u);
  EXPECT_LE(written_at_s.size(), 3u);
  EXPECT_GE(written_at_s[1] - written_at_s[0], 50);
}

TEST_F(FrameSlicesTest, WithNobodyToWriteThemTheOldestGoes) {
  for (uint64_t i = 0; i < 1000; ++i) Add("ui", "scene", i);
  WriteAll();
  EXPECT_EQ(written_.size(), 64u);
  EXPECT_EQ(written_.back().scene_number, 999u);
}

}  // namespace
}  // namespace lagwatch::sdk
