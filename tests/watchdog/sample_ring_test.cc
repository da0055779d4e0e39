// SPDX-License-Identifier: Apache-2.0
#include "watchdog/sample_ring.h"

#include <gtest/gtest.h>

#include <vector>

#include "base/clock.h"

namespace lagwatch::watchdog {
namespace {

// The samples of a busy machine, on which a function of 168 ms has one stack and one of 35 ms two.
TEST(PickExpensiveSample, GoesByTimeAndNotByNumber) {
  constexpr uint64_t kMain = 0x100, kLoadContacts = 0x200, kDrawRow = 0x300;
  const auto call = [](uint64_t function, stack::Stack* stack) {
    stack->frames[stack->frame_count++] = {.module = 0, .offset = function + 1, .function_offset = function};
  };
  std::vector<LoopSample> samples(20);
  SampleList list;
  for (size_t i = 0; i < samples.size(); ++i) {
    LoopSample& sample = samples[i];
    sample.mono_ns = sample.found_ns = static_cast<int64_t>(i + 1) * 10 * base::kNsPerMs;
    sample.no_stack_reason = stack::NoStackReason::kNoProcessor;
    sample.stack.Clear();
    if (i == 15) call(kLoadContacts, &sample.stack);
    if (i == 17 || i == 18) call(kDrawRow, &sample.stack);
    if (sample.stack.frame_count != 0) call(kMain, &sample.stack);
    list.Add(&sample);
  }
  const auto rule = policies::ExpensiveStackRule::kPath;
  EXPECT_EQ(&PickExpensiveSample(list.all(), rule), &samples[15]);
  // Samples that have no stack for another reason stand for nothing.
  for (LoopSample& sample : samples) sample.no_stack_reason = stack::NoStackReason::kSignalBlocked;
  EXPECT_EQ(&PickExpensiveSample(list.all(), rule), &samples[18]);
}

}  // namespace
}  // namespace lagwatch::watchdog
