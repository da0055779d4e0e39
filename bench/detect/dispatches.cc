// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <atomic>
#include <mutex>
#include <random>
#include <thread>

#include "bench/detect/scenarios.h"

namespace lagwatch::bench {
namespace {

uint64_t ReportsWritten() {
  lw_stats stats;
  lw_stats_init(&stats);
  lw_get_stats(&stats);
  return stats.reports_written;
}

void SleepingDispatch(Stage* stage) {
  stage->Start();
  Hang(stage, SleepOver);
}

void SpinningDispatch(Stage* stage) {
  stage->Start();
  Hang(stage, [] { SpinMs(kThresholdMs + kTickMs); });
}

void LockedDispatch(Stage* stage) {
  stage->Start();
  std::mutex mutex;
  std::atomic<bool> is_locked{false};
  std::thread owner([&] {
    std::lock_guard lock(mutex);
    is_locked = true;
    SleepMs(kThresholdMs + 2 * kTickMs);
  });
  while (!is_locked) std::this_thread::yield();
  Hang(stage, [&] { std::lock_guard lock(mutex); });
  owner.join();
}

void CountedDispatch(Stage* stage) {
  stage->Start();
  RunLoop(stage, kTickMs);
  int64_t begin_ns = NowNs();
  lw_dispatch_begin_counted(stage->loop().handle(), "long");
  SleepMs(kThresholdMs + 2 * kTickMs);
  lw_dispatch_end_counted(stage->loop().handle());
  stage->Expect(LW_KIND_HANG, begin_ns + kThresholdNs, "long");
}

void AfterAnIdleSpell(Stage* stage) {
  stage->Start();
  SleepMs(6 * kTickMs);  // the watchdog sleeps for good
  Hang(stage, SleepOver);
}

void Anr(Stage* stage) {
  stage->Start([](Options* options) { options->anr_threshold_ms = 2 * kThresholdMs; });
  int64_t begin_ns = stage->Dispatch("long", [] { SleepMs(3 * kThresholdMs); });
  stage->Expect(LW_KIND_HANG, begin_ns + kThresholdNs, "long");
  stage->Expect(LW_KIND_HANG, begin_ns + 2 * kThresholdNs, "long", "main", LW_LEVEL_ANR);
}

void JustBelow(Stage* stage) {
  stage->Start();
  for (int i = 0; i < 3; ++i) stage->ShortDispatch("short", [] { SleepMs(kThresholdMs - 50); });
}

void OwnThreshold(Stage* stage) {
  stage->Start();
  stage->loop().SetThresholds(16, 0);
  SleepMs(kTickMs + 20);
  int64_t begin_ns = stage->Dispatch("long", [] { SleepMs(kTickMs); });
  stage->Expect(LW_KIND_HANG, begin_ns + 16 * kMs, "long");
  stage->loop().SetThresholds(kThresholdMs, 0);
}

void RaisedThreshold(Stage* stage) {
  stage->Start();
  stage->loop().SetThresholds(4 * kThresholdMs, 0);
  stage->ShortDispatch("short", SleepOver, 3 * kThresholdMs);
  SleepMs(kTickMs);
  stage->loop().SetThresholds(kThresholdMs, 0);
}

void LoweredThreshold(Stage* stage) {
  stage->Start();
  stage->loop().SetThresholds(10 * kThresholdMs, 0);
  SleepMs(kTickMs);
  int64_t lowered_ns = 0;
  stage->Dispatch("long", [&] {
    SleepMs(kThresholdMs + kTickMs);
    lowered_ns = NowNs();
    stage->loop().SetThresholds(kThresholdMs, 0);
    SleepMs(2 * kTickMs);
  });
  stage->Expect(LW_KIND_HANG, lowered_ns, "long");
}

void NestedDispatch(Stage* stage) {
  stage->Start();
  Hang(stage, [&] {
    SleepMs(20);
    for (int i = 0; i < 4; ++i) {
      ScopedDispatch inner(stage->loop(), "inner");
      SleepMs(kThresholdMs / 3);
    }
  });
}

void TwoLoops(Stage* stage) {
  stage->Start();
  int64_t other_begin_ns = 0;
  std::thread other([&] {
    Loop loop(lw_watch_loop("other"));
    other_begin_ns = NowNs();
    ScopedDispatch dispatch(loop, "as long");
    SleepOver();
  });
  Hang(stage, SleepOver);
  other.join();
  stage->Expect(LW_KIND_HANG, other_begin_ns + kThresholdNs, "as long", "other");
}

void OtherLoopIsWell(Stage* stage) {
  stage->Start();
  int64_t other_begin_ns = 0;
  std::thread other([&] {
    Loop loop(lw_watch_loop("other"));
    other_begin_ns = NowNs();
    ScopedDispatch dispatch(loop, "long");
    SleepOver();
  });
  RunLoop(stage, kThresholdMs + kTickMs);
  other.join();
  stage->Expect(LW_KIND_HANG, other_begin_ns + kThresholdNs, "long", "other");
}

// Each is over when it is looked at, or nearly; the next one begins at once.
void OverWhileCaptured(Stage* stage) {
  stage->Start();
  std::minstd_rand random(static_cast<unsigned>(NowNs()));
  static constexpr std::array kTags = {"0", "1", "2", "3", "4"};
  for (const char* tag : kTags) {
    int64_t us = (kThresholdMs - 1) * 1000 + static_cast<int64_t>(random() % 3000);
    int64_t begin_ns = stage->Dispatch(tag, [&] { usleep(static_cast<useconds_t>(us)); });
    stage->Allow(LW_KIND_HANG, begin_ns + kThresholdNs, tag);
    stage->ShortDispatch(
        "next", [] { SpinMs(15); }, kThresholdMs / 2);
  }
}

void OneLongFreeze(Stage* stage) {
  stage->Start();
  uint64_t reports = ReportsWritten();
  Hang(stage, [] { SleepMs(8 * kThresholdMs); });
  stage->Require(ReportsWritten() == reports + 1);
}

[[gnu::noinline]] void OneWay() {
  SleepMs(3 * kTickMs);
  asm volatile("");
}
[[gnu::noinline]] void AnotherWay() {
  SleepMs(10 * kTickMs);
  asm volatile("");
}

void TwoStacks(Stage* stage) {
  stage->Start();
  uint64_t reports = ReportsWritten();
  Hang(stage, [] {
    OneWay();
    AnotherWay();
  });
  stage->Require(ReportsWritten() == reports + 2);
}

void Idle(Stage* stage) {
  stage->Start();
  SleepMs(2 * kThresholdMs);
}

constexpr Scenario kScenarios[] = {
    {"sleeping_dispatch", "lag", &SleepingDispatch},
    {"spinning_dispatch", "lag", &SpinningDispatch},
    {"locked_dispatch", "lag", &LockedDispatch},
    {"counted_dispatch", "lag", &CountedDispatch},
    {"after_idle_spell", "lag", &AfterAnIdleSpell},
    {"anr", "hang, then ANR", &Anr},
    {"just_below", "nothing", &JustBelow},
    {"own_threshold", "hang at 16 ms", &OwnThreshold},
    {"raised_threshold", "nothing", &RaisedThreshold},
    {"lowered_threshold", "hang once lowered", &LoweredThreshold},
    {"nested_dispatch", "one hang", &NestedDispatch},
    {"two_loops", "two hangs", &TwoLoops},
    {"other_loop_is_well", "hang of the other", &OtherLoopIsWell},
    {"over_while_captured", "never of the next", &OverWhileCaptured},
    {"one_long_freeze", "hang, one report", &OneLongFreeze},
    {"two_stacks", "hang, two reports", &TwoStacks},
    {"idle", "nothing", &Idle},
};

}  // namespace

std::span<const Scenario> Dispatches() { return kScenarios; }

}  // namespace lagwatch::bench
