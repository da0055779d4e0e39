// SPDX-License-Identifier: Apache-2.0
#include "stack/unwind/frame_list.h"

#include <gtest/gtest.h>

#include <memory>

namespace lagwatch::stack {
namespace {

std::unique_ptr<Stack> Fill(uint64_t frame_count) {
  auto stack = std::make_unique<Stack>();
  stack->Clear();
  auto frames = std::make_unique<FrameList>();
  frames->Begin(stack.get());
  for (uint64_t i = 0; i < frame_count; ++i) {
    *frames->Add() = {0, i, 0};
    EXPECT_EQ(frames->last().offset, i);
  }
  frames->Finish();
  return stack;
}

TEST(FrameList, KeepsWhatFitsInOrder) {
  for (uint64_t count : {uint64_t{0}, uint64_t{1}, uint64_t{FrameList::kInnermost}, uint64_t{kMaxFrames}}) {
    auto stack = Fill(count);
    ASSERT_EQ(stack->frame_count, count);
    EXPECT_EQ(stack->gap_frame_count, 0u);
    for (uint64_t i = 0; i < count; ++i) EXPECT_EQ(stack->frames[i].offset, i);
  }
}

TEST(FrameList, LeavesOutTheMiddleOfWhatDoesNotFit) {
  for (uint64_t count : {uint64_t{kMaxFrames + 1}, uint64_t{10'000}}) {
    auto stack = Fill(count);
    ASSERT_EQ(stack->frame_count, kMaxFrames);
    EXPECT_EQ(stack->gap_at, FrameList::kInnermost);
    EXPECT_EQ(stack->gap_frame_count, count - kMaxFrames);
    EXPECT_EQ(stack->frames[stack->gap_at - 1].offset, FrameList::kInnermost - 1u);
    for (uint32_t i = stack->gap_at; i < kMaxFrames; ++i) {
      EXPECT_EQ(stack->frames[i].offset, i + stack->gap_frame_count);
    }
  }
}

}  // namespace
}  // namespace lagwatch::stack
