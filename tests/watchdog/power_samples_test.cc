// SPDX-License-Identifier: Apache-2.0
#include "watchdog/samples/power_samples.h"

#include <gtest/gtest.h>

#include <memory>

namespace lagwatch::watchdog {
namespace {

constexpr int32_t kTid = 7;

class PowerSamplesTest : public ::testing::Test {
 protected:
  // In function `function`, at `offset` bytes of it.
  void Add(uint64_t function, int64_t cpu_ns, uint64_t offset = 0) {
    stack_->Clear();
    stack_->frame_count = 1;
    stack_->completeness = stack::Completeness::kComplete;
    stack_->frames[0] = {
        .module = 0, .offset = 0x1000 * function + offset, .function_offset = 0x1000 * function};
    samples_.Add(kTid, *stack_, cpu_ns, ++now_ns_);
  }
  uint64_t FunctionOf(size_t i) { return samples_.Heaviest()[i]->stack.frames[0].function_offset / 0x1000; }

  std::unique_ptr<stack::Stack> stack_ = std::make_unique<stack::Stack>();
  PowerSamples samples_;
  int64_t now_ns_ = 0;
};

TEST_F(PowerSamplesTest, AddsUpEqualStacksAndPutsTheHeaviestFirst) {
  Add(1, 10);
  Add(2, 25);
  Add(1, 20, 8);
  ASSERT_EQ(samples_.Heaviest().size(), 2u);
  EXPECT_EQ(FunctionOf(0), 1u);
  EXPECT_EQ(samples_.Heaviest()[0]->use.cpu_ns, 30);
  EXPECT_EQ(samples_.Heaviest()[0]->mono_ns, 3);
  EXPECT_EQ(samples_.Heaviest()[1]->use.cpu_ns, 25);
}

TEST_F(PowerSamplesTest, ForgetsWhatIsOlderThanTheWindow) {
  Add(1, 10);
  Add(2, 5);
  for (size_t i = 1; i < policies::CpuWindow::kSlices; ++i) samples_.BeginSlice();
  Add(2, 7);
  EXPECT_EQ(samples_.Heaviest().size(), 2u);
  samples_.BeginSlice();
  ASSERT_EQ(samples_.Heaviest().size(), 1u);
  EXPECT_EQ(FunctionOf(0), 2u);
  EXPECT_EQ(samples_.Heaviest()[0]->use.cpu_ns, 7);
  for (size_t i = 0; i < policies::CpuWindow::kSlices; ++i) samples_.BeginSlice();
  EXPECT_TRUE(samples_.empty());
}

TEST_F(PowerSamplesTest, TheLightestMakesRoom) {
  for (uint64_t function = 1; function <= PowerSamples::kMaxStacks; ++function)
    Add(function, 1000 - static_cast<int64_t>(function));
  Add(1000, 5000);
  ASSERT_EQ(samples_.Heaviest().size(), PowerSamples::kMaxStacks);
  EXPECT_EQ(FunctionOf(0), 1000u);
  EXPECT_EQ(FunctionOf(PowerSamples::kMaxStacks - 1), PowerSamples::kMaxStacks - 1);
  EXPECT_EQ(samples_.left_out_ns(), 1000 - static_cast<int64_t>(PowerSamples::kMaxStacks));
  samples_.Clear();
  EXPECT_TRUE(samples_.empty());
  EXPECT_EQ(samples_.left_out_ns(), 0);
}

TEST_F(PowerSamplesTest, WhatASleeperUsedCountsWhereItIsNextFoundRunning) {
  samples_.AddAsleep(kTid, 40);
  samples_.AddAsleep(kTid + 1, 5);
  samples_.BeginSlice();
  samples_.AddAsleep(kTid, 2);
  EXPECT_TRUE(samples_.empty());
  EXPECT_EQ(samples_.asleep_ns(), 47);
  Add(1, 10);
  ASSERT_EQ(samples_.Heaviest().size(), 1u);
  EXPECT_EQ(samples_.Heaviest()[0]->use.cpu_ns, 52);
  EXPECT_EQ(samples_.asleep_ns(), 5);
  Add(1, 10);
  EXPECT_EQ(samples_.Heaviest()[0]->use.cpu_ns, 62);
  for (size_t i = 0; i < policies::CpuWindow::kSlices; ++i) samples_.BeginSlice();
  EXPECT_EQ(samples_.asleep_ns(), 0);
}

TEST_F(PowerSamplesTest, ManySleepersAreTooMany) {
  for (int32_t tid = 1; tid <= 100; ++tid) samples_.AddAsleep(tid, tid);
  EXPECT_EQ(samples_.asleep_ns() + samples_.left_out_ns(), 100 * 101 / 2);
  EXPECT_GT(samples_.left_out_ns(), 0);
  EXPECT_GT(samples_.asleep_ns(), samples_.left_out_ns() / 100);
}

TEST_F(PowerSamplesTest, AStackThatCouldNotBeCapturedIsNone) {
  stack_->Clear();
  samples_.Add(kTid, *stack_, 10, 1);
  EXPECT_TRUE(samples_.empty());
}

}  // namespace
}  // namespace lagwatch::watchdog
