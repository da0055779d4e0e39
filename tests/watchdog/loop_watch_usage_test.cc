// SPDX-License-Identifier: Apache-2.0
// The usage that the watch of a loop counts.
#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "tests/watchdog/loop_watch_testing.h"
#include "watchdog/events/hang_listener.h"
#include "watchdog/events/usage_period.h"
#include "watchdog/loops/dispatch_tag.h"

namespace lagwatch::watchdog {
namespace {

using base::kNsPerMs;
using base::kNsPerSecond;

// Counts of usage: the tick counter is real, its scale and the clock are the test's.
class LoopWatchUsageTest : public LoopWatchTest {
 protected:
  LoopWatchUsageTest() {
    options_.threshold_ns = 100 * kNsPerMs;
    options_.slow_dispatch_ns = 20 * kNsPerMs;
    options_.sensitive_ns = 20 * kNsPerMs;
    options_.listener = &listener_;
  }
  void Look() {
    WatchTools all = tools();
    all.usage = &usage_;
    watch_.Look(loop_, all);
  }
  // A dispatch of at least that length, by the tick counter and by the clock, without a look in it.
  void Dispatch(const char* tag, int64_t duration_ns) {
    loop_->probe.Begin(tag);
    const uint64_t begin_ticks = base::ReadTicks();
    Look();
    while (tick_scale_.ToNs(base::ReadTicks() - begin_ticks) < duration_ns) {
    }
    loop_->probe.End();
    clock_.now_ns = clock_.MonoNs() + duration_ns;
    clock_.follows_from_ticks = base::ReadTicks();  // however long it takes until the next look
  }
  const policies::LoopUsage& ui() { return *usage_.Of("ui"); }

  class Listener final : public HangListener {
   public:
    void OnHangBegin(const HangNotice&) override {}
    void OnHangEnd(const HangNotice&) override {}
    void OnFiltered(const HangNotice&, FilterReason) override {}
    bool WantsSensitive() const override { return true; }
    void OnSensitive(const HangNotice& dispatch) override { told.emplace_back(dispatch.tag); }
    std::vector<std::string> told;
  };
  Listener listener_;
  UsagePeriod usage_;
};

TEST_F(LoopWatchUsageTest, LeavesOutTheTimeOfAStop) {
  Look();
  clock_.now_ns += 5 * kNsPerSecond;
  watch_.Discount({.stopped_ns = 3 * kNsPerSecond});
  Look();
  EXPECT_EQ(ui().watched_ns, 2 * kNsPerSecond);
  Look();
  EXPECT_EQ(ui().watched_ns, 2 * kNsPerSecond);
}

TEST_F(LoopWatchUsageTest, CountsWhatWouldBeAHangButForAStop) {
  BeginDispatch("stopped");
  Look();
  clock_.now_ns += 10 * kNsPerMs;
  Look();
  clock_.now_ns += 3 * kNsPerSecond;
  watch_.Discount({.stopped_ns = 3 * kNsPerSecond});
  EndDispatch();
  Look();
  EXPECT_EQ(counters_.hangs_stopped.value(), 1u);
  EXPECT_EQ(counters_.hangs_suspended.value(), 0u);
  EXPECT_EQ(counters_.hangs_ended_first.value(), 0u);
  BeginDispatch("while the machine slept");
  Look();
  clock_.now_ns += 10 * kNsPerMs;
  watch_.Discount({.suspended_ns = 3 * kNsPerSecond});
  EndDispatch();
  Look();
  EXPECT_EQ(counters_.hangs_suspended.value(), 1u);
  BeginDispatch("short");
  Look();
  EndDispatch();
  Look();
  // A stop in a dispatch that was over long before the next look.
  Dispatch("short and timed", 1 * kNsPerMs);
  watch_.Discount({.stopped_ns = 50 * kNsPerMs});
  clock_.now_ns += 190 * kNsPerMs;
  Look();
  EXPECT_EQ(counters_.hangs_stopped.value() + counters_.hangs_suspended.value(), 2u);
  EXPECT_EQ(ui().hangs, 0u);
}

TEST_F(LoopWatchUsageTest, NamesTheModuleOfAFunctionBeforeTheFirstHang) {
  Look();
  const auto function = reinterpret_cast<uint64_t>(&setenv);
  Dispatch(reinterpret_cast<const char*>(function | kFunctionTagBits), 25 * kNsPerMs);
  Look();
  ASSERT_EQ(usage_.slow().size(), 1u);
  EXPECT_NE(std::string(usage_.slow()[0].tag).find("+0x"), std::string::npos) << usage_.slow()[0].tag;
}

TEST_F(LoopWatchUsageTest, CountsAHangThatEndedBeforeItsCheck) {
  Look();
  Dispatch("over too soon", 105 * kNsPerMs);
  Look();
  EXPECT_EQ(counters_.hangs_ended_first.value(), 1u);
  EXPECT_TRUE(sink_.hangs().empty());
  EXPECT_TRUE(usage_.slow().empty());
  EXPECT_EQ(listener_.told, std::vector<std::string>{"over too soon"});
}

// It waited for the address space, which the dispatch was changing.
TEST_F(LoopWatchUsageTest, ReportsAHangThatEndedWhileItWasKeptWaiting) {
  Look();
  loop_->probe.Begin("mprotect");
  Look();
  clock_.now_ns = clock_.MonoNs() + 60 * kNsPerMs;
  Look();  // opens the window
  const uint64_t begin_ticks = base::ReadTicks();
  while (tick_scale_.ToNs(base::ReadTicks() - begin_ticks) < 150 * kNsPerMs) {
  }
  loop_->probe.End();
  clock_.now_ns += 150 * kNsPerMs;
  watch_.Discount({.blocked_ns = 150 * kNsPerMs});
  Look();
  ASSERT_EQ(sink_.hangs().size(), 1u);
  const testing::RecordedHang hang = sink_.hangs()[0];
  EXPECT_GE(hang.elapsed_ns, 150 * kNsPerMs);
  EXPECT_EQ(hang.facts.at("no_stack_samples"), 1);
  EXPECT_EQ(hang.texts.at("no_stack_reason"), "address_space_locked");
  EXPECT_EQ(hang.facts.at("watchdog_blocked_ms"), 150);
  EXPECT_EQ(sink_.ends().size(), 1u);
  EXPECT_EQ(counters_.hangs.value(), 1u);
  EXPECT_EQ(counters_.hangs_ended_first.value(), 0u);
  Look();
  EXPECT_EQ(sink_.hangs().size(), 1u);
}

// Real-time threads may keep the watchdog from every processor.
class LateWatchTest : public LoopWatchUsageTest {
 protected:
  LateWatchTest() { Look(); }
  // One that no look finds, of at least that length by the tick counter.
  void DispatchUnseen(const char* tag, int64_t duration_ns) {
    loop_->probe.Begin(tag);
    Spin(duration_ns);
    loop_->probe.End();
    clock_.now_ns += duration_ns;
  }
  void Spin(int64_t duration_ns) {
    const uint64_t begin_ticks = base::ReadTicks();
    while (tick_scale_.ToNs(base::ReadTicks() - begin_ticks) < duration_ns) {
    }
  }
  // So slow a time that the CPU time used is more than any duration, however busy the machine is.
  void SlowDown() {
    constexpr int64_t kSlower = 80;
    base::TickScale real;
    real.Anchor(base::ReadTickPair(base::SystemClock()));
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    real.Update(base::ReadTickPair(base::SystemClock()));
    tick_scale_ = {};
    tick_scale_.Anchor({0, 0});
    tick_scale_.Update({real.ToTicks(kNsPerSecond), kNsPerSecond / kSlower});
    options_.threshold_ns = kNsPerMs;
    Look();
  }
};

TEST_F(LateWatchTest, ReportsAHangThatNoLookHasFound) {
  DispatchUnseen("unseen", 150 * kNsPerMs);
  watch_.Discount({.late_ns = 150 * kNsPerMs});
  Look();
  ASSERT_EQ(sink_.hangs().size(), 1u);
  const testing::RecordedHang hang = sink_.hangs()[0];
  EXPECT_EQ(hang.tag, "unseen");
  EXPECT_GE(hang.elapsed_ns, 147 * kNsPerMs);
  EXPECT_LE(hang.elapsed_ns, 250 * kNsPerMs);  // the late time, an idle sleep and the account's tolerance
  EXPECT_EQ(hang.texts.at("no_stack_reason"), "watchdog_late");
  EXPECT_EQ(hang.facts.at("watchdog_late_ms"), 150);
  ASSERT_EQ(sink_.ends().size(), 1u);
  EXPECT_EQ(ui().hangs, 1u);
  EXPECT_EQ(counters_.hangs.value(), 1u);
  EXPECT_EQ(counters_.hangs_ended_first.value(), 0u);
  Look();
  EXPECT_EQ(sink_.hangs().size(), 1u);
}

TEST_F(LateWatchTest, ReportsAHangThatItCouldNotCheck) {
  loop_->probe.Begin("seen once");
  Look();
  Spin(150 * kNsPerMs);
  loop_->probe.End();
  clock_.now_ns += 150 * kNsPerMs;
  watch_.Discount({.late_ns = 140 * kNsPerMs});
  Look();
  ASSERT_EQ(sink_.hangs().size(), 1u);
  EXPECT_EQ(sink_.hangs()[0].texts.at("no_stack_reason"), "watchdog_late");
  EXPECT_EQ(sink_.ends().size(), 1u);
  EXPECT_EQ(ui().hangs, 1u);
  Look();
  EXPECT_EQ(sink_.hangs().size(), 1u);
  EXPECT_EQ(counters_.hangs.value(), 1u);
}

TEST_F(LateWatchTest, ReportsNoTimeInWhichTheMachineSlept) {
  loop_->probe.Begin("asleep");
  Look();
  Spin(150 * kNsPerMs);  // the ticks go on
  loop_->probe.End();
  clock_.now_ns += 30 * kNsPerMs;
  watch_.Discount({.suspended_ns = 120 * kNsPerMs, .late_ns = 25 * kNsPerMs});
  Look();
  EXPECT_TRUE(sink_.hangs().empty());
}

TEST_F(LateWatchTest, CountsAHangThatItMissedForNoKnownReason) {
  DispatchUnseen("unseen", 150 * kNsPerMs);
  Look();
  EXPECT_TRUE(sink_.hangs().empty());
  EXPECT_EQ(counters_.hangs_ended_first.value(), 1u);
}

TEST_F(LateWatchTest, ReportsNoTimeInWhichTheProcessWasStopped) {
  DispatchUnseen("stopped", 150 * kNsPerMs);
  watch_.Discount({.stopped_ns = 1000 * kNsPerSecond, .late_ns = 60 * kNsPerMs});
  Look();
  EXPECT_TRUE(sink_.hangs().empty());
  clock_.now_ns += kNsPerSecond;
  // A stop that the watchdog's account does not show: only its late time is certain.
  DispatchUnseen("long", 400 * kNsPerMs);
  watch_.Discount({.late_ns = 30 * kNsPerMs});
  Look();
  ASSERT_EQ(sink_.hangs().size(), 1u);
  EXPECT_LE(sink_.hangs()[0].elapsed_ns, 140 * kNsPerMs);
}

TEST_F(LateWatchTest, TakesAThreadThatMayHaveIdledForAHangOnlyIfItComputed) {
  SlowDown();
  loop_->is_inferred.store(true);
  constexpr int64_t kDispatchNs = 150 * kNsPerMs;
  loop_->probe.Begin("idle");
  std::this_thread::sleep_for(std::chrono::nanoseconds(kDispatchNs));
  loop_->probe.End();
  watch_.Discount({.late_ns = kDispatchNs});
  Look();
  EXPECT_TRUE(sink_.hangs().empty());
  EXPECT_EQ(counters_.hangs_ended_first.value(), 1u);
  loop_->probe.Begin("busy");
  const int64_t begin_ns = base::ThreadCpuNs(0);
  while (base::ThreadCpuNs(0) - begin_ns < kDispatchNs) {
  }
  loop_->probe.End();
  watch_.Discount({.late_ns = kDispatchNs});
  Look();
  ASSERT_EQ(sink_.hangs().size(), 1u);
  EXPECT_EQ(sink_.hangs()[0].verdict.word, policies::VerdictWord::kCpu);
}

// Else a process that goes on computing seems to have used thousands of processors.
TEST_F(LoopWatchUsageTest, ProcessorTimesOfAHangThatIsOverAreOfTheTimeUntilTheyAreRead) {
  const auto hang = [&](bool has_window) {
    loop_->probe.Begin("mprotect");
    Look();
    if (has_window) clock_.now_ns = clock_.MonoNs() + 60 * kNsPerMs;
    Look();
    const uint64_t begin_ticks = base::ReadTicks();
    while (tick_scale_.ToNs(base::ReadTicks() - begin_ticks) < 150 * kNsPerMs) {
    }
    loop_->probe.End();
    clock_.now_ns += 10 * kNsPerSecond;
    watch_.Discount({.blocked_ns = 150 * kNsPerMs});
    Look();
  };
  Look();
  hang(true);
  ASSERT_EQ(sink_.hangs().size(), 1u);
  EXPECT_GE(sink_.hangs()[0].cpu_window_ns, 10 * kNsPerSecond);
  hang(false);
  ASSERT_EQ(sink_.hangs().size(), 2u);
  EXPECT_EQ(sink_.hangs()[1].cpu_window_ns, 0);  // not since the one before
}

TEST_F(LoopWatchUsageTest, NotesSlowDispatchesOnceAndNoneOfAStop) {
  options_.threshold_ns = 100 * kNsPerSecond;
  Look();
  Dispatch("slow", 30 * kNsPerMs);
  Look();
  Look();
  EXPECT_EQ(listener_.told, std::vector<std::string>{"slow"});
  ASSERT_EQ(usage_.slow().size(), 1u);
  EXPECT_STREQ(usage_.slow()[0].loop, "ui");
  EXPECT_STREQ(usage_.slow()[0].tag, "slow");
  EXPECT_EQ(usage_.slow()[0].dispatches.count, 1u);
  Dispatch("stopped", 30 * kNsPerMs);
  watch_.Discount({.stopped_ns = 100 * kNsPerSecond});
  Look();
  EXPECT_EQ(listener_.told.size(), 1u);
  EXPECT_EQ(ui().dispatches, 2u);
}

TEST_F(LoopWatchUsageTest, CountsAHangAsFarAsItWentAndThenExactly) {
  WatchTools all = tools();
  all.usage = &usage_;
  BeginDispatch("long");
  for (int i = 0; i < 30; ++i) {
    watch_.Look(loop_, all);
    clock_.now_ns += 10 * kNsPerMs;
  }
  EXPECT_EQ(ui().hangs, 1u);
  EXPECT_EQ(ui().hang_ns, 290 * kNsPerMs);
  usage_.Clear();  // a new period
  EndDispatch();
  watch_.Look(loop_, all);
  EXPECT_EQ(ui().hangs, 0u);
  EXPECT_EQ(ui().hang_ns, 10 * kNsPerMs);
  EXPECT_EQ(ui().untimed_dispatches, 1u);
}

TEST_F(LoopWatchUsageTest, TellsTheBackgroundApart) {
  const auto registry = std::make_unique<LoopRegistry>();
  WatchTools all = tools();
  all.usage = &usage_;
  all.registry = registry.get();
  auto watch_for = [&](int looks) {
    for (int i = 0; i < looks; ++i) {
      watch_.Look(loop_, all);
      clock_.now_ns += 10 * kNsPerMs;
    }
  };
  watch_for(10);
  registry->SetForeground(false);
  BeginDispatch("long");
  watch_for(31);
  registry->SetForeground(true);
  watch_for(10);
  EndDispatch();
  watch_for(11);
  const policies::UsagePart background = ui().background;
  EXPECT_EQ(background.watched_ns, 310 * kNsPerMs);
  EXPECT_EQ(ui().watched_ns, 610 * kNsPerMs);
  EXPECT_EQ(ui().hangs, 1u);
  EXPECT_EQ(background.hangs, 1u);  // it was found there
  EXPECT_EQ(background.hang_ns, ui().hang_ns);
  EXPECT_GT(background.hang_ns, 300 * kNsPerMs);
}

class Scenes final : public ValueSource {
 public:
  size_t key_count() const override { return 1; }
  const char* key(size_t) const override { return "scene"; }
  void Read(size_t, char (&value)[kMaxValueBytes]) const override {
    value[scene.copy(value, sizeof value)] = '\0';
  }
  std::string scene;
};

TEST_F(LoopWatchUsageTest, TellsTheProgramsValuesApart) {
  Scenes scenes;
  usage_.values().SetSource(&scenes);
  auto look_often = [&](int looks) {
    for (int i = 0; i < looks; ++i) {
      Look();
      clock_.now_ns += 10 * kNsPerMs;
    }
  };
  auto part_of = [&](std::string_view scene) {
    policies::UsagePart part;
    usage_.values().ForEach([&](std::string_view, std::string_view value, const policies::UsagePart& each) {
      if (value == scene) part = each;
    });
    return part;
  };
  look_often(10);
  scenes.scene = "export";
  BeginDispatch("long");
  look_often(31);
  scenes.scene = "inbox";  // by another thread: the hang stays with the value that it was found in
  look_often(10);
  EndDispatch();
  look_often(11);
  EXPECT_EQ(part_of("export").watched_ns, 310 * kNsPerMs);
  EXPECT_EQ(part_of("").watched_ns + part_of("export").watched_ns + part_of("inbox").watched_ns,
            ui().watched_ns);
  EXPECT_EQ(part_of("export").hangs, 1u);
  EXPECT_EQ(part_of("export").hang_ns, ui().hang_ns);
  EXPECT_EQ(part_of("inbox").hangs, 0u);
  usage_.Clear();
  EXPECT_EQ(part_of("export"), policies::UsagePart{});
}

TEST(ValueUsage, CountsLaterValuesTogether) {
  Scenes scenes;
  ValueUsage usage;
  usage.SetSource(&scenes);
  constexpr size_t kAll = ValueUsage::kMaxValues + 10;
  for (size_t i = 0; i < kAll; ++i) {
    scenes.scene = "scene " + std::to_string(i);
    usage.AddHang(usage.Present());
  }
  scenes.scene = "scene 0";  // has a place
  usage.AddHang(usage.Present());
  size_t values = 0;
  uint64_t of_first = 0, of_others = 0;
  usage.ForEach([&](std::string_view, std::string_view value, const policies::UsagePart& part) {
    ++values;
    if (value == "scene 0") of_first = part.hangs;
    if (value == ValueUsage::kOthers) of_others = part.hangs;
  });
  EXPECT_EQ(values, ValueUsage::kMaxValues);
  EXPECT_EQ(of_first, 2u);
  EXPECT_EQ(of_others, kAll - ValueUsage::kMaxValues + 1);
}

}  // namespace
}  // namespace lagwatch::watchdog
