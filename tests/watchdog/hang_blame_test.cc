// SPDX-License-Identifier: Apache-2.0
#include "watchdog/hang_blame.h"

#include <gtest/gtest.h>

#include <initializer_list>
#include <memory>

#include "base/clock.h"

namespace lagwatch::watchdog {
namespace {

// Outermost first, as a person writes them; each is a function of one module.
stack::Stack StackOf(std::initializer_list<uint64_t> functions) {
  stack::Stack stack;
  stack.Clear();
  for (auto function = std::rbegin(functions); function != std::rend(functions); ++function)
    stack.frames[stack.frame_count++] = {.module = 0, .offset = *function + 1, .function_offset = *function};
  return stack;
}

class HangBlameTest : public ::testing::Test {
 protected:
  HangBlameTest() { blame_->Begin(now_ms_ * base::kNsPerMs); }
  // The thread is there for so long, as a sample at both ends shows.
  void Add(std::initializer_list<uint64_t> functions, int64_t ms) {
    Sample(functions);
    now_ms_ += ms;
    Sample(functions);
  }
  // Without functions the thread has no processor.
  void Sample(std::initializer_list<uint64_t> functions) {
    LoopSample sample{};
    sample.stack = StackOf(functions);
    sample.mono_ns = sample.found_ns = now_ms_ * base::kNsPerMs;
    if (sample.stack.frame_count == 0) sample.no_stack_reason = stack::NoStackReason::kNoProcessor;
    blame_->Add(sample);
  }
  bool IsRight(std::initializer_list<uint64_t> functions) const {
    return blame_->Agree(blame_->Find(StackOf(functions)), blame_->Heaviest());
  }

  static constexpr uint64_t kMain = 0x100, kLoad = 0x200, kSave = 0x300, kRead = 0x400, kParse = 0x500;
  int64_t now_ms_ = 1;
  std::unique_ptr<HangBlame> blame_ = std::make_unique<HangBlame>();
};

TEST_F(HangBlameTest, TheGreaterShareIsRightInHowManySamplesEver) {
  for (int i = 0; i < 4; ++i) Add({kMain, kLoad}, 10);
  Add({kMain, kSave}, 80);
  EXPECT_EQ(blame_->Heaviest(), blame_->Find(StackOf({kMain, kSave})));
  EXPECT_TRUE(IsRight({kMain, kSave}));
  EXPECT_FALSE(IsRight({kMain, kLoad}));
}

TEST_F(HangBlameTest, AThreadWithoutAProcessorIsWhereItAnswers) {
  for (int i = 0; i < 3; ++i) Add({kMain, kSave}, 10);
  for (int i = 0; i < 10; ++i, now_ms_ += 10) Sample({});
  Sample({kMain, kLoad});
  EXPECT_EQ(blame_->Heaviest(), blame_->Find(StackOf({kMain, kLoad})));
}

TEST_F(HangBlameTest, AWitnessOfTheHeaviestCallIsKept) {
  EXPECT_EQ(blame_->witness(), nullptr);
  Add({kMain, kLoad}, 30);
  Add({kMain, kRead}, 50);
  for (int i = 0; i < 20; ++i) Add({kMain, kSave}, 1);
  ASSERT_NE(blame_->witness(), nullptr);
  EXPECT_EQ(blame_->Find(blame_->witness()->stack), blame_->Find(StackOf({kMain, kRead})));
}

TEST_F(HangBlameTest, EqualSharesAreBothRight) {
  Add({kMain, kLoad}, 50);
  Add({kMain, kSave}, 54);
  EXPECT_TRUE(IsRight({kMain, kLoad}));
  EXPECT_TRUE(IsRight({kMain, kSave}));
}

TEST_F(HangBlameTest, WhatTheHeaviestCallHasCalledIsRight) {
  Add({kMain, kLoad}, 60);
  Add({kMain, kLoad, kParse}, 30);
  Add({kMain, kSave, kRead}, 10);
  EXPECT_EQ(blame_->Heaviest(), blame_->Find(StackOf({kMain, kLoad})));
  EXPECT_TRUE(IsRight({kMain, kLoad, kParse}));
}

TEST_F(HangBlameTest, ACalleeIsMorePreciseThanItsCaller) {
  Add({kMain, kLoad}, 20);
  Add({kMain, kLoad, kRead}, 80);
  EXPECT_TRUE(IsRight({kMain, kLoad, kRead}));
  EXPECT_FALSE(IsRight({kMain, kLoad}));
}

TEST_F(HangBlameTest, WhatTheFirstSamplesWereInHasBegunBefore) {
  blame_->Begin(now_ms_ * base::kNsPerMs);
  now_ms_ += 100;
  for (int i = 0; i < 11; ++i) Add({kMain, kLoad}, 10);
  for (int i = 0; i < 15; ++i) Add({kMain, kSave}, 10);
  EXPECT_EQ(blame_->Heaviest(), blame_->Find(StackOf({kMain, kSave})));
  EXPECT_TRUE(IsRight({kMain, kLoad}));  // 210 ms, by all that is known
  for (int i = 0; i < 10; ++i) Add({kMain, kSave}, 10);
  EXPECT_FALSE(IsRight({kMain, kLoad}));
}

TEST_F(HangBlameTest, StacksWithoutACommonFunctionSayNothing) {
  for (uint64_t i = 1; i < 10; ++i) Add({i * 0x1000, kLoad}, 10);
  EXPECT_EQ(blame_->Heaviest(), HangBlame::kNone);
}

TEST_F(HangBlameTest, MoreCallsThanThereIsRoomForSayNothing) {
  Add({kMain, kSave}, 500);
  for (uint64_t i = 1; i <= HangBlame::kMostCalls; ++i) Add({kMain, i * 0x1000}, 1);
  EXPECT_EQ(blame_->Heaviest(), HangBlame::kNone);
}

TEST_F(HangBlameTest, TheNextHangBeginsAnew) {
  Add({kMain, kLoad}, 100);
  blame_->Begin(0);
  EXPECT_EQ(blame_->Heaviest(), HangBlame::kNone);
}

}  // namespace
}  // namespace lagwatch::watchdog
