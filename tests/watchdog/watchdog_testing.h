// SPDX-License-Identifier: Apache-2.0
// A watchdog on the real clock, and threads whose loops it watches.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <functional>
#include <memory>
#include <thread>

#include "base/clock.h"
#include "stack/stack_capturer.h"
#include "stack/unwind/table_unwinder.h"
#include "tests/testing/process.h"
#include "tests/testing/stalls.h"
#include "tests/watchdog/recording_sink.h"
#include "watchdog/watchdog.h"

namespace lagwatch::watchdog {

class WatchdogTest : public ::testing::Test {
 protected:
  ~WatchdogTest() override {
    if (watchdog_ != nullptr) {
      EXPECT_TRUE(watchdog_->TryStop());
    }
  }
  WatchdogTest() {
    options_.threshold_ns = 200 * base::kNsPerMs;
    options_.check_period_ns = 100 * base::kNsPerMs;
    options_.sample_interval_ns = 10 * base::kNsPerMs;
  }
  void Start() {
    watchdog_.reset();
    capturer_.reset();  // one at a time
    capturer_ = stack::StackCapturer::Create({}, stack::CreateTableUnwinder().value()).value();
    watchdog_ = std::make_unique<Watchdog>(options_, registry_.get(), capturer_.get(), &sink_);
    ASSERT_TRUE(watchdog_->Start().ok());
  }
  // A thread whose one dispatch is `stall`.
  std::function<void(const testing::StopFlag&)> Dispatch(
      std::function<void(const testing::StopFlag&)> stall) {
    return [this, stall](const testing::StopFlag& stop) {
      WatchedLoop* loop = registry_->Add("loop", gettid());
      loop->probe.Begin("stall");
      stall(stop);
      loop->probe.End();
      while (!stop.load()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
      registry_->Remove(loop);
    };
  }
  bool WaitForHangs(size_t count) {
    return testing::WaitUntil([&] { return sink_.hangs().size() >= count; });
  }

  WatchOptions options_;
  std::unique_ptr<LoopRegistry> registry_ = std::make_unique<LoopRegistry>();
  std::unique_ptr<stack::StackCapturer> capturer_;
  testing::RecordingSink sink_;
  std::unique_ptr<Watchdog> watchdog_;
};

// Works in a function that a stack shows.
[[gnu::noinline]] inline void ShortWork() {
  for (int i = 0; i < 10'000; ++i) asm volatile("");
}

inline void RunShortDispatch(WatchedLoop* loop) {
  loop->probe.Begin("short");
  ShortWork();
  loop->probe.End();
}

}  // namespace lagwatch::watchdog
