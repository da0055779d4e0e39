// SPDX-License-Identifier: Apache-2.0
#include "trace/model/weights.h"

#include <gmock/gmock.h>

#include <map>
#include <string>

#include "tests/trace/model/trace_builder.h"

namespace lagwatch::trace {
namespace {

using lagwatch::testing::kMs;
using lagwatch::testing::TraceBuilder;
using ::testing::ElementsAre;

// "main;Work 5 ms, 2"
std::vector<std::string> Told(const TraceBuilder& builder) {
  const StackWeights weights = WeighStacks(builder.trace);
  std::vector<std::string> told;
  for (const StackTime& weighted : weights.stacks) {
    std::string names;
    for (uint32_t node = weighted.stack; node != kNoIndex; node = weights.nodes[node].parent)
      names = builder.trace.frames[weights.nodes[node].frame].name + (names.empty() ? "" : ";") + names;
    told.push_back(names + " " + std::to_string(weighted.time_ns / kMs) + " ms, " +
                   std::to_string(weighted.count));
  }
  return told;
}

TEST(Weights, AreTheTimeAndTheLooksOfEachStack) {
  TraceBuilder builder;
  builder.Sample(0, "main;Work");
  builder.Sample(10, "main;Rest").count = 4;
  builder.trace.threads[0].runs.back().end_ns = 50 * kMs;
  builder.Sample(60, "main;Work");
  builder.trace.end_ns = 64 * kMs;
  EXPECT_THAT(Told(builder), ElementsAre("main;Work 14 ms, 2", "main;Rest 50 ms, 4"));
}

TEST(Weights, GiveACallItsOwnTimeAndTheRestToWhatTheNextLookShares) {
  TraceBuilder builder;
  builder.Capture(0, "main;Work;malloc");
  builder.Wait(0, 4, 9, "main;lock");
  builder.Sample(12, "main");
  builder.trace.end_ns = 12 * kMs;
  EXPECT_THAT(Told(builder), ElementsAre("main 7 ms, 1", "main;Work;malloc 0 ms, 1", "main;lock 5 ms, 1"));
}

TEST(Weights, OfAThreadThatWasNotSampledAreThoseOfItsCalls) {
  TraceBuilder builder;
  builder.Call(0, "main", true);
  for (int64_t begin_ms : {1, 5}) {
    builder.Call(begin_ms, "Work", true);
    builder.Call(begin_ms + 2, "Work", false);
  }
  builder.Call(9, "main", false);
  EXPECT_THAT(Told(builder), ElementsAre("main 5 ms, 1", "main;Work 4 ms, 2"));
}

// "main;Work 5 ms", and "(waits)" where it did.
std::vector<std::string> ToldWithin(const TraceBuilder& builder, int64_t from_ms, int64_t until_ms) {
  std::vector<std::string> told;
  const StackWeights weights =
      WeighRunningAndWaits(builder.trace, from_ms * kMs, until_ms * kMs, {10 * kMs, 10 * kMs});
  for (const StackTime& weighted : weights.stacks) {
    const std::string name = builder.trace.frames[weights.nodes[weighted.stack].frame].name;
    told.push_back(name + " " + std::to_string(weighted.time_ns / kMs) + " ms" +
                   (weighted.waited_ns != 0 ? " (waits)" : ""));
  }
  return told;
}

// A capture in a call says nothing about the thread's activity until the next one.
TEST(Weights, OfThreadsThatLookAtThemselvesInCallsAreShapedByTheirTimers) {
  TraceBuilder builder;
  for (int64_t time_ms = 0; time_ms < 4000; time_ms += 10) {
    builder.Sample(time_ms, time_ms % 40 == 0 ? "main;Rare" : "main;Work").is_running = true;
    builder.Capture(time_ms + 5, "main;Rare;malloc");
  }
  builder.Wait(0, 4000, 5000, "main;Rest;nanosleep");
  std::map<std::string, int64_t> total_ms;
  const StackWeights weights = WeighStacks(builder.trace);
  for (const StackTime& weighted : weights.stacks)
    total_ms[builder.trace.frames[weights.nodes[weighted.stack].frame].name] += weighted.time_ns / kMs;
  EXPECT_EQ(total_ms["Work"], 3000);
  EXPECT_EQ(total_ms["Rare"], 1000);
  EXPECT_EQ(total_ms["main"], 0);
  EXPECT_EQ(total_ms["nanosleep"], 1000);
}

TEST(Weights, OfRunningThreadsAreLooksOfTheirTimersOnly) {
  TraceBuilder builder;
  builder.Sample(0, "main;Work").is_running = true;
  builder.Capture(5, "main;malloc");
  auto& work = builder.Sample(10, "main;Work");
  work.is_running = true;
  work.end_ns = 50 * kMs;
  work.count = 5;
  builder.trace.end_ns = 50 * kMs;
  EXPECT_THAT(ToldWithin(builder, 0, 60), ElementsAre("Work 60 ms"));
}

TEST(Weights, OfWindowsAddUpToThoseOfAll) {
  TraceBuilder builder;
  auto& work = builder.Sample(3, "main;Work");
  work.is_running = true;
  work.end_ns = 93 * kMs;
  work.count = 10;
  builder.Sample(105, "main;Rest").end_ns = 400 * kMs;
  builder.trace.end_ns = 400 * kMs;
  EXPECT_THAT(ToldWithin(builder, 0, 1000), ElementsAre("Work 100 ms", "Rest 300 ms (waits)"));
  EXPECT_THAT(ToldWithin(builder, 0, 43), ElementsAre("Work 40 ms"));
  EXPECT_THAT(ToldWithin(builder, 43, 150), ElementsAre("Work 60 ms", "Rest 47 ms (waits)"));
  EXPECT_THAT(ToldWithin(builder, 150, 350), ElementsAre("Rest 200 ms (waits)"));
  EXPECT_THAT(ToldWithin(builder, 350, 1000), ElementsAre("Rest 50 ms (waits)"));
}

TEST(Weights, OfWaitsAreNoMoreThanTheTimeThatIsLeft) {
  TraceBuilder builder;
  auto& work = builder.Sample(0, "main;Work");
  work.is_running = true;
  work.end_ns = 70 * kMs;
  work.count = 8;
  builder.Sample(75, "main;Rest").end_ns = 100 * kMs;
  builder.trace.end_ns = 100 * kMs;
  EXPECT_THAT(ToldWithin(builder, 0, 100), ElementsAre("Work 80 ms", "Rest 20 ms (waits)"));
}

}  // namespace
}  // namespace lagwatch::trace
