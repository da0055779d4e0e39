// SPDX-License-Identifier: Apache-2.0
// A running thread caught by the real capturer, to be asked which functions its stack shows.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>

#include "stack/stack_capturer.h"
#include "stack/unwind/table_unwinder.h"
#include "tests/testing/emulation.h"

namespace lagwatch::stack {

class CaughtStackTest : public ::testing::Test {
 protected:
  CaughtStackTest() {
    constexpr int64_t kPatienceNs = 10'000'000'000;  // a loaded machine may be late
    auto capturer =
        StackCapturer::Create({.signal_number = testing::CaptureSignal(), .signal_timeout_ns = kPatienceNs},
                              CreateTableUnwinder().value());
    EXPECT_TRUE(capturer.ok()) << capturer.status().message();
    capturer_ = std::move(capturer).value();
  }

  void Capture(int tid) {
    capturer_->RefreshModules();
    capturer_->Capture(tid, stack_.get());
  }
  // The address of the stack's frame `index`: an instruction's last byte for a call, else its first.
  uint64_t AddressOf(uint32_t index) const {
    const Frame& frame = stack_->frames[index];
    return frame.module == kNoModule ? frame.offset
                                     : capturer_->modules().module(frame.module).load_bias + frame.offset;
  }
  // Whether frame `index` is one of `function`.
  template <typename Function>
  bool IsIn(uint32_t index, Function* function) const {
    if (index >= stack_->frame_count) return false;
    const Frame& frame = stack_->frames[index];
    return frame.module != kNoModule && frame.function_offset != 0 &&
           capturer_->modules().module(frame.module).load_bias + frame.function_offset ==
               reinterpret_cast<uint64_t>(function);
  }
  // The innermost frame of `function`; -1 when there is none.
  template <typename Function>
  int IndexOf(Function* function) const {
    for (uint32_t i = 0; i < stack_->frame_count; ++i) {
      if (IsIn(i, function)) return static_cast<int>(i);
    }
    return -1;
  }

  std::unique_ptr<StackCapturer> capturer_;
  std::unique_ptr<Stack> stack_{new Stack};
};

}  // namespace lagwatch::stack
