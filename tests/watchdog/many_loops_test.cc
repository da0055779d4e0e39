// SPDX-License-Identifier: Apache-2.0
// A watchdog of thousands of loops, nearly all of which are idle.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "stack/unwind/table_unwinder.h"
#include "tests/testing/process.h"
#include "tests/watchdog/recording_sink.h"
#include "watchdog/watchdog.h"

namespace lagwatch::watchdog {
namespace {

using base::kNsPerMs;
using std::chrono::milliseconds;

class ManyLoopsTest : public ::testing::Test {
 protected:
  ManyLoopsTest() {
    options_.threshold_ns = 200 * kNsPerMs;
    options_.check_period_ns = 100 * kNsPerMs;
    options_.sample_interval_ns = 10 * kNsPerMs;
  }
  ~ManyLoopsTest() override {
    if (watchdog_ != nullptr) {
      EXPECT_TRUE(watchdog_->TryStop());
    }
  }
  void Start() {
    watchdog_ = std::make_unique<Watchdog>(options_, registry_.get(), capturer_.get(), &sink_);
    ASSERT_TRUE(watchdog_->Start().ok());
  }
  // Loops of this thread, each of which has had a dispatch.
  void AddLoops(size_t count) {
    while (loops_.size() < count) {
      loops_.push_back(registry_->Add(("loop " + std::to_string(loops_.size())).c_str(), gettid()));
      ASSERT_NE(loops_.back(), nullptr);
      loops_.back()->probe.Begin("once");
      loops_.back()->probe.End();
    }
  }
  bool SleepsForGood() {
    return testing::WaitUntil(
        [&] {
          const int rounds = sink_.rounds();
          std::this_thread::sleep_for(milliseconds(500));
          return sink_.rounds() == rounds;
        },
        20);
  }

  WatchOptions options_;
  std::unique_ptr<LoopRegistry> registry_ = std::make_unique<LoopRegistry>();
  std::unique_ptr<stack::StackCapturer> capturer_ =
      stack::StackCapturer::Create({}, stack::CreateTableUnwinder().value()).value();
  testing::RecordingSink sink_;
  std::unique_ptr<Watchdog> watchdog_;
  std::vector<WatchedLoop*> loops_;
};

TEST_F(ManyLoopsTest, FindsTheOneOfTwoThousandThatHangs) {
  Start();
  AddLoops(2000);
  EXPECT_TRUE(SleepsForGood());
  WatchedLoop* loop = loops_[1777];
  for (int i = 0; i < 3; ++i) {
    const auto before = static_cast<size_t>(i);
    loop->probe.Begin("long");
    EXPECT_TRUE(testing::WaitUntil([&] { return sink_.hangs().size() > before; }, 10));
    loop->probe.End();
    EXPECT_TRUE(testing::WaitUntil([&] { return sink_.ends().size() > before; }, 10));
    if (i == 1) {
      EXPECT_TRUE(SleepsForGood());
    }
  }
  for (const testing::RecordedHang& hang : sink_.hangs()) EXPECT_EQ(hang.loop, "loop 1777");
  EXPECT_EQ(sink_.hangs().size(), 3u);
}

TEST_F(ManyLoopsTest, FindsHangsOfManyAtOnce) {
  Start();
  AddLoops(300);
  EXPECT_TRUE(SleepsForGood());
  for (WatchedLoop* loop : loops_) loop->probe.Begin("long");
  EXPECT_TRUE(testing::WaitUntil([&] { return sink_.hangs().size() >= loops_.size(); }, 60));
  for (WatchedLoop* loop : loops_) loop->probe.End();
  EXPECT_TRUE(testing::WaitUntil([&] { return sink_.ends().size() >= loops_.size(); }, 60));
}

TEST_F(ManyLoopsTest, MissesNoDispatchOfALoopThatIsNotLookedAt) {
  Start();
  AddLoops(100);
  for (size_t i = 0; i < 10; ++i) {
    // Loops are looked at no more two looks after their last dispatch; one of them keeps the watchdog awake.
    std::thread busy([&] {
      for (size_t turn = 0; turn < 8 + i; ++turn) {
        loops_[99]->probe.Begin("short");
        std::this_thread::sleep_for(milliseconds(20));
        loops_[99]->probe.End();
      }
    });
    std::this_thread::sleep_for(milliseconds(150 + 13 * i));
    loops_[i]->probe.Begin("long");
    EXPECT_TRUE(testing::WaitUntil([&] { return sink_.hangs().size() > i; }, 10)) << i;
    loops_[i]->probe.End();
    busy.join();
  }
}

TEST_F(ManyLoopsTest, ForgetsLoopsThatGoWhileTheyAreNotLookedAt) {
  Start();
  AddLoops(200);
  EXPECT_TRUE(SleepsForGood());
  for (WatchedLoop* loop : loops_) registry_->Remove(loop);
  loops_.clear();
  AddLoops(200);
  EXPECT_TRUE(SleepsForGood());
  loops_[7]->probe.Begin("long");
  EXPECT_TRUE(testing::WaitUntil([&] { return sink_.hangs().size() == 1; }, 10));
  loops_[7]->probe.End();
  EXPECT_EQ(sink_.hangs()[0].loop, "loop 7");
}

// While one hangs, which is sampled every 10 ms.
TEST_F(ManyLoopsTest, IdleLoopsCostNothing) {
  options_.check_period_ns = 1000 * kNsPerMs;
  options_.threshold_ns = 2000 * kNsPerMs;
  Start();
  std::vector<double> percents;
  for (size_t count : {size_t{64}, size_t{1000}, size_t{4000}}) {
    AddLoops(count);
    EXPECT_TRUE(SleepsForGood());
    loops_[0]->probe.Begin("long");
    std::this_thread::sleep_for(milliseconds(2500));
    double least = 100;
    for (int turn = 0; turn < 3; ++turn) {  // the least, for the machine's sake
      const int64_t before_ns = watchdog_->CpuNs();
      const int64_t begin_ns = base::SystemClock().MonoNs();
      std::this_thread::sleep_for(milliseconds(700));
      least = std::min(least, 100.0 * static_cast<double>(watchdog_->CpuNs() - before_ns) /
                                  static_cast<double>(base::SystemClock().MonoNs() - begin_ns));
    }
    loops_[0]->probe.End();
    percents.push_back(least);
    std::printf("%zu loops: %.2f %% of a processor while one hangs\n", count, percents.back());
  }
  EXPECT_LT(percents.back(), 2 * percents.front());
}

}  // namespace
}  // namespace lagwatch::watchdog
