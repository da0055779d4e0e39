// SPDX-License-Identifier: Apache-2.0
#include "probe/run/budget.h"

#include <gtest/gtest.h>
#include <ucontext.h>

#include <ctime>

#include "tests/probe/armed_script.h"

namespace lagwatch::probe {
namespace {

constexpr uint64_t kSecond = 1'000'000'000;
constexpr uint64_t kWindow = kSecond / kWindowsPerSecond;

BudgetWindow WindowOf(uint64_t elapsed, uint64_t hits, uint64_t runs, uint64_t run_ticks,
                      uint64_t mechanism_ticks = 0) {
  return {.elapsed_ticks = elapsed,
          .hits = hits,
          .runs = runs,
          .run_ticks = run_ticks,
          .mechanism_ticks = mechanism_ticks,
          .ticks_per_second = kSecond};
}

TEST(Budget, WithinItEveryHitIsRun) {
  EXPECT_EQ(Decide({}, Budget{}, WindowOf(kWindow, 900, 900, 1'000)).ToNumber(), 0u);
  EXPECT_EQ(Decide({}, Budget{}, WindowOf(kWindow / 2, 900, 900, 1'000)).ToNumber(), 0u);
}

TEST(Budget, OnceSpentTheRestOfTheWindowIsLeftOut) {
  const BudgetState spent =
      Decide({}, Budget{}, WindowOf(kWindow / 2, 500, 500, 2'001));  // more than 1 ms of 100
  EXPECT_TRUE(spent.is_exhausted);
  EXPECT_TRUE(Decide({}, Budget{}, WindowOf(kWindow / 2, 1'001, 1'001, 1))
                  .is_exhausted);  // more than 10,000 a second
  EXPECT_FALSE(Decide(spent, Budget{}, WindowOf(kWindow, 500, 500, 1'000)).is_exhausted);
}

TEST(Budget, TheNextWindowIsThinnedToWhatItAllows) {
  const BudgetState thin = Decide({}, Budget{}, WindowOf(kWindow, 16'000, 1'000, 100));
  EXPECT_EQ(thin.shift, 4);  // 1,000 of 16,000
  const BudgetState calm = Decide(thin, Budget{}, WindowOf(kWindow, 100, 6, 100));
  EXPECT_EQ(calm.shift, 3);  // step by step
  EXPECT_EQ(BudgetState::FromNumber(calm.ToNumber()).ToNumber(), calm.ToNumber());
}

TEST(Budget, AMechanismThatAloneTakesTooMuchTurnsItOff) {
  BudgetState state;
  for (int i = 1; i < kMostStrikes; ++i) {
    state = Decide(state, Budget{}, WindowOf(kWindow, 30'000, 10, 100, 40));  // 1.2 ms of 100
    EXPECT_FALSE(state.is_off) << i;
  }
  state = Decide(state, Budget{}, WindowOf(kWindow, 30'000, 10, 100, 40));
  EXPECT_TRUE(state.is_off);
  EXPECT_FALSE(
      Decide({.strikes = 8}, Budget{}, WindowOf(kWindow, 100, 10, 100, 40)).is_off);  // a calm one between
}

// The second before that is for estimates: a function that is called so often has an answer, too.
TEST(Budget, AMechanismThatTakesTooMuchIsSampledBeforeItIsOff) {
  const BudgetState often = Decide({}, Budget{}, WindowOf(kWindow, 30'000, 10, 100, 40));
  EXPECT_EQ(often.shift, 5);  // 1,000 of 30,000
  EXPECT_FALSE(Decide(often, Budget{}, WindowOf(kWindow / 2, 30'000, 930, 100, 40)).is_exhausted);
  EXPECT_TRUE(Decide(often, Budget{}, WindowOf(kWindow / 2, 30'000, 1'001, 100, 40)).is_exhausted);
  EXPECT_EQ(Decide({.shift = kMostShift}, Budget{}, WindowOf(kWindow, 100, 0, 100, 40)).shift, 0);
}

// A single hit that counts for 2^20 others would be the whole number.
TEST(Budget, NoHitCountsForAMillion) {
  ArmedScript armed("f { count }");
  constexpr uint64_t kHits = 4'000'000;
  for (uint64_t i = 0; i < kHits; ++i) {
    armed.block().threads[0].state.store(BudgetState{.shift = kMostShift}.ToNumber());
    armed.Run();
  }
  const ProbeStats stats = armed.state().Stats();
  EXPECT_LE(armed.Total(), kHits / kHitsPerCheck);  // where the clock is read the budget decides again
  EXPECT_EQ(stats.hits, kHits);
  EXPECT_GT(stats.lost, kHits / 2);
}

TEST(Budget, HitsThatNoOtherOneCountsForAreLost) {
  ArmedScript armed("f { count }");
  ThreadSlot& slot = armed.block().threads[0];
  slot.state.store(BudgetState{.is_exhausted = true}.ToNumber());
  EXPECT_EQ(armed.Run(), HitEnd::kSkipped);
  EXPECT_EQ(armed.state().Stats().lost, 1U);
  slot.state.store(BudgetState{.shift = 4}.ToNumber());
  while (armed.state().Stats().skipped < 10) armed.Run();
  EXPECT_EQ(armed.state().Stats().lost, 1U);
}

// A busy thread, by the clock: what it spends in probes stays near the budget.
TEST(Budget, ABusyThreadKeepsItsTime) {
  ArmedScript armed("f { count by stack(64) }");
  timespec begin{};
  clock_gettime(CLOCK_MONOTONIC, &begin);
  timespec now{};
  do {
    for (int i = 0; i < 100; ++i) armed.Run();
    clock_gettime(CLOCK_MONOTONIC, &now);
  } while ((now.tv_sec - begin.tv_sec) * 1'000'000'000 + now.tv_nsec - begin.tv_nsec < 400'000'000);
  const ProbeStats stats = armed.state().Stats();
  EXPECT_GT(stats.skipped, stats.hits * 9 / 10);
  EXPECT_GT(stats.hits, stats.skipped);
  // The hits that were run count for those that were left out by chance, not for those at a window's end.
  EXPECT_GE(armed.Total(), stats.hits - stats.skipped);
}

TEST(Budget, OffMeansOff) {
  ArmedScript armed("f { count }", 1'000'000);  // a mechanism that takes a millisecond
  timespec begin{};
  clock_gettime(CLOCK_MONOTONIC, &begin);
  timespec now{};
  HitEnd end = HitEnd::kDone;
  do {
    end = armed.Run();
    clock_gettime(CLOCK_MONOTONIC, &now);
  } while (end != HitEnd::kOff && now.tv_sec - begin.tv_sec < 60);
  EXPECT_EQ(end, HitEnd::kOff);
  EXPECT_TRUE(armed.state().Stats().is_off);
  const uint64_t total = armed.Total();
  EXPECT_EQ(armed.Run(), HitEnd::kOff);
  EXPECT_EQ(armed.Total(), total);
}

// The deepest hits, on a stack that shows how far they reach.
class PaintedStack {
 public:
  static constexpr size_t kSize = 64 * 1024;

  // The bytes of the stack that `run` used.
  template <typename Run>
  size_t Use(Run run) {
    memory_.assign(kSize, '\x5A');
    ucontext_t own;
    ucontext_t other;
    getcontext(&other);
    other.uc_stack = {.ss_sp = memory_.data(), .ss_flags = 0, .ss_size = kSize};
    other.uc_link = &own;
    static Run* present = nullptr;
    present = &run;
    makecontext(
        &other, [] { (*present)(); }, 0);
    swapcontext(&own, &other);
    size_t unused = 0;
    while (unused < kSize && memory_[unused] == '\x5A') ++unused;
    return kSize - unused;
  }

 private:
  std::vector<char> memory_;
};

size_t ReadTwoBytes(const Hit&, uint64_t, void* to, size_t) {
  static_cast<char*>(to)[0] = 'x';
  static_cast<char*>(to)[1] = 0;
  return 2;
}
size_t CaptureOne(const Hit&, uint64_t* addresses, size_t) {
  addresses[0] = 1;
  return 1;
}

TEST(Budget, AHitTakesLittleStack) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "sanitizers use more stack";
#endif
  constexpr HitServices kLean{.read = ReadTwoBytes, .capture_stack = CaptureOne, .cpu_time_ns = nullptr};
  const auto most_of = [](std::string_view script) {
    return script.find("double") == std::string_view::npos ? 512u : 768u;  // with vector registers kept
  };
  for (const char* script : {"f { count by str(arg0), stack, arg1 }",
                             "f if str(arg0) ~ \"*x\" { print(arg0, str(arg1), stack, time) }",
                             "f sample adaptive 100/s limit 1000/s { histogram(arg0, 0, 100, 10) by arg1 }",
                             "f(double a, float b) { avg(a) by str(arg0); max(b) }",
                             "f if str(arg0) == \"xyz\" or arg1 / arg2 == 3 { count }"}) {
    ArmedScript armed(script);
    uint64_t ints[6] = {1, 2, 3, 4, 5, 6};
    Hit hit;
    hit.services = &kLean;
    hit.int_arguments = ints;
    const auto run = [&] { RunProbe(armed.probe(), hit, &armed.state()); };
    const auto measured = [&] {
      for (int i = 0; i < 200; ++i)
        RunProbe(armed.probe(), hit, &armed.state());  // also those that check the budget
    };
    // The mechanism's own stack, without which it is measured.
    char text[2];
    const size_t idle = PaintedStack().Use([&] { kLean.read(hit, 1, text, 2); });
    run();
    EXPECT_LE(PaintedStack().Use(measured) - idle, most_of(script)) << script;
  }
}

}  // namespace
}  // namespace lagwatch::probe
