// SPDX-License-Identifier: Apache-2.0
// A schedule that is known, looked at now and then as a sampler does: the totals must be the schedule's.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <random>

#include "tests/trace/model/trace_builder.h"
#include "trace/model/slices.h"
#include "trace/model/weights.h"

namespace lagwatch::trace {
namespace {

using lagwatch::testing::kMs;
using lagwatch::testing::TraceBuilder;

struct Part {
  int64_t begin_ns;
  const char* stack;
};

struct Schedule {
  std::vector<Part> parts;  // ascending
  int64_t end_ns = 0;
  std::map<std::string, int64_t> totals_ns;  // by function, with what it calls

  void Add(const char* stack, int64_t time_ns, TraceBuilder* builder) {
    parts.push_back({end_ns, stack});
    end_ns += time_ns;
    for (uint32_t node = builder->Stack(stack); node != kNoIndex; node = builder->trace.nodes[node].parent)
      totals_ns[builder->trace.frames[builder->trace.nodes[node].frame].name] += time_ns;
  }
  const char* At(int64_t time_ns) const {
    const auto next = std::upper_bound(parts.begin(), parts.end(), time_ns,
                                       [](int64_t time, const Part& part) { return time < part.begin_ns; });
    return std::prev(next)->stack;
  }
};

// Ten minutes of calls that last 2 to 90 ms.
Schedule RandomSchedule(std::mt19937* random, TraceBuilder* builder) {
  static constexpr const char* kStacks[] = {"main;Loop;Parse", "main;Loop;Parse;Read",
                                            "main;Loop;Draw",  "main;Loop;Draw;Layout",
                                            "main;Idle",       "main;Loop;Save"};
  Schedule schedule;
  while (schedule.end_ns < 600'000 * kMs) {
    const char* stack = kStacks[std::uniform_int_distribution<size_t>(0, std::size(kStacks) - 1)(*random)];
    schedule.Add(stack, std::uniform_int_distribution<int64_t>(2 * kMs, 90 * kMs)(*random), builder);
  }
  return schedule;
}

double LargestError(const Schedule& schedule, const std::map<std::string, int64_t>& found_ns) {
  double largest = 0;
  for (const auto& [name, total_ns] : schedule.totals_ns) {
    const auto found = found_ns.find(name);
    const double ns = found == found_ns.end() ? 0 : static_cast<double>(found->second);
    largest = std::max(largest, std::abs(ns / static_cast<double>(total_ns) - 1));
  }
  return largest;
}

// No function calls itself here, so its slices do not overlap.
std::map<std::string, int64_t> TotalsOfSlices(const Trace& trace) {
  std::map<std::string, int64_t> totals_ns;
  for (const Track& track : BuildTracks(trace))
    for (const Slice& slice : track.slices)
      totals_ns[trace.frames[slice.frame].name] += slice.end_ns - slice.begin_ns;
  return totals_ns;
}

std::map<std::string, int64_t> TotalsOfWeights(const Trace& trace) {
  std::map<std::string, int64_t> totals_ns;
  const StackWeights weights = WeighStacks(trace);
  for (const StackTime& weighted : weights.stacks)
    for (uint32_t node = weighted.stack; node != kNoIndex; node = weights.nodes[node].parent)
      totals_ns[trace.frames[weights.nodes[node].frame].name] += weighted.time_ns;
  return totals_ns;
}

void ExpectTrue(const Schedule& schedule, const Trace& trace, double most) {
  const double of_slices = LargestError(schedule, TotalsOfSlices(trace));
  const double of_weights = LargestError(schedule, TotalsOfWeights(trace));
  EXPECT_LT(of_slices, most);
  EXPECT_LT(of_weights, most);
  ::testing::Test::RecordProperty("largest_error", std::to_string(of_slices));
}

// One look every 10 ms and up to 2 ms more or less.
std::vector<int64_t> Looks(const Schedule& schedule, std::mt19937* random) {
  std::vector<int64_t> times_ns;
  int64_t time_ns = 0;
  while (time_ns < schedule.end_ns) {
    times_ns.push_back(time_ns);
    time_ns += std::uniform_int_distribution<int64_t>(8 * kMs, 12 * kMs)(*random);
  }
  return times_ns;
}

void AddLook(TraceBuilder* builder, int64_t time_ns, const char* stack, uint32_t dispatch = 0) {
  Run& run = builder->Sample(0, stack, dispatch);
  run.begin_ns = run.end_ns = time_ns;
}

TEST(Truth, SampledTotalsAreThoseOfTheSchedule) {
  for (uint32_t seed = 1; seed <= 5; ++seed) {
    std::mt19937 random(seed);
    TraceBuilder builder;
    const Schedule schedule = RandomSchedule(&random, &builder);
    for (int64_t time_ns : Looks(schedule, &random)) AddLook(&builder, time_ns, schedule.At(time_ns));
    builder.trace.end_ns = schedule.end_ns;
    ExpectTrue(schedule, builder.trace, 0.03);
  }
}

// A recorder that joins equal neighbours says the same in fewer runs.
TEST(Truth, MergedRunsSayTheSame) {
  std::mt19937 random(6);
  TraceBuilder builder;
  const Schedule schedule = RandomSchedule(&random, &builder);
  for (int64_t time_ns : Looks(schedule, &random)) {
    auto& runs = builder.trace.threads[0].runs;
    const uint32_t stack = builder.Stack(schedule.At(time_ns));
    if (!runs.empty() && runs.back().stack == stack) {
      runs.back().end_ns = time_ns;
      ++runs.back().count;
    } else {
      AddLook(&builder, time_ns, schedule.At(time_ns));
    }
  }
  builder.trace.end_ns = schedule.end_ns;
  EXPECT_LT(builder.trace.threads[0].runs.size(), 20'000u);
  ExpectTrue(schedule, builder.trace, 0.03);
}

// Dispatches of 30 to 300 ms, whose begins and ends are known: what is cut there is not lost.
TEST(Truth, DispatchesThatCutSlicesTakeNothingAway) {
  std::mt19937 random(7);
  TraceBuilder builder;
  Schedule schedule;
  auto& dispatches = builder.trace.threads[0].dispatches;
  while (schedule.end_ns < 600'000 * kMs) {
    const auto id = static_cast<uint32_t>(dispatches.size() + 1);
    const int64_t begin_ns = schedule.end_ns;
    const bool is_key = std::uniform_int_distribution<int>(0, 1)(random) == 0;
    const auto part_ns = [&] { return std::uniform_int_distribution<int64_t>(15 * kMs, 150 * kMs)(random); };
    schedule.Add(is_key ? "main;Loop;OnKey;Look" : "main;Loop;OnDraw;Layout", part_ns(), &builder);
    schedule.Add(is_key ? "main;Loop;OnKey;Insert" : "main;Loop;OnDraw;Paint", part_ns(), &builder);
    dispatches.push_back({id, begin_ns, schedule.end_ns, ""});
  }
  for (int64_t time_ns : Looks(schedule, &random)) {
    const auto next =
        std::upper_bound(dispatches.begin(), dispatches.end(), time_ns,
                         [](int64_t time, const Dispatch& each) { return time < each.begin_ns; });
    AddLook(&builder, time_ns, schedule.At(time_ns), std::prev(next)->id);
  }
  builder.trace.end_ns = schedule.end_ns;
  ExpectTrue(schedule, builder.trace, 0.03);
}

// Dispatches of 1 to 30 ms with pauses between them, most of which no look meets: those that one meets stand
// for the others.
TEST(Truth, DispatchesTooShortToBeMetAreInTheTotals) {
  std::mt19937 random(9);
  TraceBuilder builder;
  Schedule schedule;
  auto& dispatches = builder.trace.threads[0].dispatches;
  while (schedule.end_ns < 600'000 * kMs) {
    const auto part_ns = [&](int64_t least_ms, int64_t most_ms) {
      return std::uniform_int_distribution<int64_t>(least_ms * kMs, most_ms * kMs)(random);
    };
    const bool is_long = std::uniform_int_distribution<int>(0, 9)(random) == 0;
    const int64_t begin_ns = schedule.end_ns;
    schedule.Add(is_long ? "main;Loop;OnDraw" : "main;Loop;OnKey", is_long ? part_ns(6, 30) : part_ns(1, 6),
                 &builder);
    dispatches.push_back({static_cast<uint32_t>(dispatches.size() + 1), begin_ns, schedule.end_ns, ""});
    schedule.Add("main;Loop;Poll", part_ns(1, is_long ? 20 : 4), &builder);
  }
  for (int64_t time_ns : Looks(schedule, &random)) {
    const auto next = std::ranges::upper_bound(dispatches, time_ns, {}, &Dispatch::begin_ns);
    const Dispatch& last = *std::prev(next);
    AddLook(&builder, time_ns, schedule.At(time_ns), time_ns < last.end_ns ? last.id : 0);
  }
  builder.trace.end_ns = schedule.end_ns;
  EXPECT_LT(LargestError(schedule, TotalsOfWeights(builder.trace)), 0.03);
}

TEST(Truth, InstrumentedTotalsAreTheSchedulesOwn) {
  std::mt19937 random(8);
  TraceBuilder builder;
  const Schedule schedule = RandomSchedule(&random, &builder);
  std::vector<uint32_t> open, path;
  auto& calls = builder.trace.threads[0].calls;
  const auto leave = [&](int64_t time_ns, size_t depth) {
    for (; open.size() > depth; open.pop_back()) calls.push_back({time_ns, open.back(), false});
  };
  for (const Part& part : schedule.parts) {
    path.clear();
    for (uint32_t node = builder.Stack(part.stack); node != kNoIndex; node = builder.trace.nodes[node].parent)
      path.insert(path.begin(), builder.trace.nodes[node].frame);
    size_t shared = 0;
    while (shared < std::min(path.size(), open.size()) && path[shared] == open[shared]) ++shared;
    leave(part.begin_ns, shared);
    for (; shared < path.size(); ++shared) {
      calls.push_back({part.begin_ns, path[shared], true});
      open.push_back(path[shared]);
    }
  }
  leave(schedule.end_ns, 0);
  builder.trace.end_ns = schedule.end_ns;
  ExpectTrue(schedule, builder.trace, 1e-12);
}

}  // namespace
}  // namespace lagwatch::trace
