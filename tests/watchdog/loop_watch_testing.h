// SPDX-License-Identifier: Apache-2.0
// The watch of one loop, on a clock that the test turns: real captures of a real thread, no waiting.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <vector>

#include "base/clock.h"
#include "base/ticks.h"
#include "stack/stack_capturer.h"
#include "stack/unwind/table_unwinder.h"
#include "tests/testing/stalls.h"
#include "tests/watchdog/recording_sink.h"
#include "watchdog/loop_watch.h"

namespace lagwatch::watchdog {

class LoopWatchClock final : public base::Clock {
 public:
  int64_t MonoNs() const override {
    const uint64_t ticks = follows_from_ticks == 0 ? 0 : base::ReadTicks() - follows_from_ticks;
    return now_ns + static_cast<int64_t>(ticks);
  }
  int64_t BootNs() const override { return MonoNs(); }
  int64_t WallMs() const override { return 1'700'000'000'000 + MonoNs() / base::kNsPerMs; }
  int64_t now_ns = 1000 * base::kNsPerSecond;
  uint64_t follows_from_ticks = 0;  // unless 0: goes on with the tick counter, a tick a nanosecond
};
class LoopWatchTest : public ::testing::Test {
 protected:
  LoopWatchTest() {
    options_.anr_threshold_ns = 0;
    capturer_ = stack::StackCapturer::Create({}, stack::CreateTableUnwinder().value()).value().release();
    owned_capturer_.reset(capturer_);
    tick_scale_.Anchor({0, 0});
    tick_scale_.Update({1000, 1000});
    ring_.reset(new LoopSample[static_cast<size_t>(options_.ring_size)]);
    watch_.SetRing(ring_.get());
    loop_ = registry_->Add("ui", stalled_.tid());
  }

  WatchTools tools() {
    return {.options = &options_,
            .tick_scale = &tick_scale_,
            .clock = &clock_,
            .capturer = capturer_,
            .threads = &threads_,
            .waits = &waits_,
            .sink = &sink_,
            .counters = &counters_};
  }
  // Begins a dispatch without a time stamp, so that only the fake clock counts.
  void BeginDispatch(const char* tag) {
    auto* words = reinterpret_cast<LoopWords*>(&loop_->probe);
    words->begin_ticks = LoopProbe::kUntimed;
    words->tag = tag;
    ++words->begun;
  }
  void EndDispatch() { ++reinterpret_cast<LoopWords*>(&loop_->probe)->ended; }
  // Turns the clock from look to look, as the watchdog does, up to `until_ns` from the start.
  void RunUntil(int64_t until_ns) {
    while (next_ns_ <= start_ns_ + until_ns) {
      clock_.now_ns = std::max(clock_.now_ns, next_ns_);
      uint64_t unchanged = counters_.unchanged_checks.value();
      const uint64_t captures = capturer_->counters().captures.value();
      next_ns_ = watch_.Look(loop_, tools());
      int64_t at_ms = (clock_.now_ns - start_ns_) / base::kNsPerMs;
      if (counters_.unchanged_checks.value() != unchanged) unchanged_at_ms_.push_back(at_ms);
      if (capturer_->counters().captures.value() != captures) samples_at_ms_.push_back(at_ms);
    }
    clock_.now_ns = start_ns_ + until_ns;
  }

  WatchOptions options_;
  testing::StalledThread stalled_{testing::Spin};
  std::unique_ptr<LoopRegistry> registry_ = std::make_unique<LoopRegistry>();
  stack::StackCapturer* capturer_;
  std::unique_ptr<stack::StackCapturer> owned_capturer_;
  base::TickScale tick_scale_;
  LoopWatchClock clock_;
  ThreadLister threads_{8};
  WaitWalker waits_;
  testing::RecordingSink sink_;
  WatchCounters counters_;
  std::unique_ptr<LoopSample[]> ring_;
  LoopWatch watch_;
  WatchedLoop* loop_;
  int64_t start_ns_ = clock_.now_ns;
  int64_t next_ns_ = clock_.now_ns;
  std::vector<int64_t> unchanged_at_ms_;
  std::vector<int64_t> samples_at_ms_;
};

}  // namespace lagwatch::watchdog
