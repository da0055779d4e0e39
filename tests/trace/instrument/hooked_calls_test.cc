// SPDX-License-Identifier: Apache-2.0
// Programs whose calls' times are known, built with -finstrument-functions and with room to be patched.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "base/clock.h"
#include "base/ticks.h"
#include "tests/trace/instrument/recording.h"
#include "tests/trace/instrument/scripted_calls.h"

namespace lagwatch::trace {
namespace {

constexpr double kMostError = 0.005;

using Subject = void (*)(int, uint64_t, ScriptedTimes*);

uint64_t TicksOf(int64_t ns) {
  static const double ticks_per_ns = [] {
    const base::TickPair begin = base::ReadTickPair(base::SystemClock());
    while (base::SystemClock().MonoNs() - begin.mono_ns < 20 * base::kNsPerMs) {
    }
    const base::TickPair end = base::ReadTickPair(base::SystemClock());
    return static_cast<double>(end.ticks - begin.ticks) / static_cast<double>(end.mono_ns - begin.mono_ns);
  }();
  return static_cast<uint64_t>(static_cast<double>(ns) * ticks_per_ns);
}

// The largest error of the recorded totals against the script's; 1 if calls are missing.
double ErrorOf(const std::vector<CallRecord>& calls, const ScriptedTimes& times) {
  const auto totals = TotalsOf(calls);
  double worst = 0;
  for (int i = 0; i < kScriptedFunctions; ++i) {
    const auto total = totals.find(times.functions[i]);
    if (total == totals.end() || total->second.calls != times.calls[i]) return 1;
    const auto truth = static_cast<double>(times.ticks[i]);
    worst = std::max(worst, std::abs(static_cast<double>(total->second.ticks) - truth) / truth);
  }
  return worst;
}

// A busy machine may stop the thread between the recorder's look at the clock and the script's: the best
// of several runs.
double BestErrorOf(Subject subject) {
  double best = 1;
  for (int i = 0; i < 5 && best > kMostError; ++i) {
    ScopedRecording recording;
    ScriptedTimes times{};
    subject(100, TicksOf(2 * base::kNsPerMs), &times);
    recording.Stop();
    best = std::min(best, ErrorOf(recording.OwnCalls(), times));
  }
  return best;
}

class HookedCalls : public ::testing::TestWithParam<Subject> {};

TEST_P(HookedCalls, TotalsAreThoseOfTheScript) { EXPECT_LE(BestErrorOf(GetParam()), kMostError); }

TEST_P(HookedCalls, TheCoarseClockIsOffByItsPeriodAtMost) {
  ScopedRecording recording(CallClock::kCoarse);
  ScriptedTimes times{};
  GetParam()(20, TicksOf(20 * base::kNsPerMs), &times);
  const auto totals = TotalsOf(recording.OwnCalls());
  const auto root = totals.find(times.functions[0]);
  ASSERT_NE(root, totals.end());
  EXPECT_EQ(root->second.calls, 20U);
  // The ticker is a thread like others, which a busy machine lets wait.
  const auto truth = static_cast<double>(times.ticks[0]);
  EXPECT_NEAR(static_cast<double>(root->second.ticks), truth, 0.2 * truth);
}

TEST_P(HookedCalls, AreNotRecordedWhileItIsOff) {
  ScopedRecording recording;
  recording.Stop();
  ScriptedTimes times{};
  GetParam()(1, 1000, &times);
  EXPECT_TRUE(recording.OwnCalls().empty());
}

class PatchedCalls : public ::testing::TestWithParam<Subject> {};

TEST_P(PatchedCalls, TotalsAreThoseOfTheScript) {
  if (!CanPatch()) GTEST_SKIP() << "this processor's code cannot be patched";
  Patcher().Apply({.allow_functions = {"Root", "Branch", "Leaf"}});
  EXPECT_LE(BestErrorOf(GetParam()), kMostError);
  Patcher().Clear();
}

INSTANTIATE_TEST_SUITE_P(Compilers, PatchedCalls, ::testing::Values(&patched_first, &patched_second),
                         CompilersNumber());
INSTANTIATE_TEST_SUITE_P(Compilers, HookedCalls, ::testing::Values(&hooked_first, &hooked_second),
                         CompilersNumber());

}  // namespace
}  // namespace lagwatch::trace
