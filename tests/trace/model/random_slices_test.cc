// SPDX-License-Identifier: Apache-2.0
// Invariants of the slices of any trace, also of one that no recorder would make.
#include <gtest/gtest.h>

#include <numeric>
#include <random>

#include "tests/trace/model/trace_builder.h"
#include "trace/model/functions.h"
#include "trace/model/slices.h"
#include "trace/model/weights.h"

namespace lagwatch::trace {
namespace {

using lagwatch::testing::kMs;

class RandomTrace {
 public:
  explicit RandomTrace(uint32_t seed) : random_(seed) {
    trace.begin_ns = 1'000 * kMs;
    trace.end_ns = trace.begin_ns + Below(2'000) * kMs;
    trace.sample_interval_ns = Below(4) == 0 ? 0 : (1 + Below(20)) * kMs;
    for (uint32_t i = 0; i < 6; ++i) AddFrame(i);
    for (uint32_t i = 0; i < 40; ++i)
      trace.nodes.push_back({.parent = i == 0 || Below(9) == 0 ? kNoIndex : Index(i), .frame = Index(6)});
    for (int i = 0; i < 2; ++i) AddThread();
  }

  Trace trace;

 private:
  int64_t Below(int64_t limit) { return std::uniform_int_distribution<int64_t>(0, limit - 1)(random_); }
  uint32_t Index(int64_t limit) { return static_cast<uint32_t>(Below(limit)); }

  void AddFrame(uint32_t number) {
    NamedFrame& frame = trace.frames.emplace_back();
    frame.offset = 16 + number;
    if (Below(2) != 0) frame.name = "f" + std::to_string(number);
  }

  void AddThread() {
    Thread thread;
    AddDispatches(&thread);
    int64_t time_ns = trace.begin_ns;
    Totals totals;
    for (int64_t left = Below(120); left > 0; --left) {
      Run run;
      run.begin_ns = time_ns + Below(3) * Below(8) * kMs;
      run.end_ns = run.begin_ns + Below(2) * Below(40) * kMs;
      run.kind = static_cast<RunKind>(Below(4));
      run.call = static_cast<CallKind>(Below(16));
      run.count = 1 + Index(3);
      run.stack = Below(20) == 0 ? kNoIndex : Index(40);
      run.dispatch = DispatchAt(thread, run.begin_ns);
      if (!thread.dispatches.empty() && run.dispatch != 0)
        run.end_ns = std::min(run.end_ns, thread.dispatches[run.dispatch - 1].end_ns);
      if (run.kind != RunKind::kSampled && Below(3) != 0) {
        totals.cpu_ns += Below(1'000);
        totals.allocations += static_cast<uint64_t>(Below(5));
        run.totals = totals;
      }
      // Some overlap, others are seen while the last one waits.
      time_ns = Below(4) == 0 ? run.begin_ns : run.end_ns;
      thread.runs.push_back(run);
    }
    time_ns = trace.begin_ns;
    for (int64_t left = Below(200); left > 0; --left) {
      time_ns += Below(3) * Below(5) * kMs / 4;
      thread.calls.push_back({time_ns, Index(6), Below(2) == 0});
    }
    trace.threads.push_back(thread);
  }

  void AddDispatches(Thread* thread) {
    int64_t time_ns = trace.begin_ns;
    for (uint32_t id = 1; id <= Index(30); ++id) {
      const int64_t begin_ns = time_ns + Below(30) * kMs;
      time_ns = begin_ns + Below(60) * kMs;
      thread->dispatches.push_back({id, begin_ns, time_ns, ""});
    }
  }

  static uint32_t DispatchAt(const Thread& thread, int64_t time_ns) {
    for (const Dispatch& each : thread.dispatches)
      if (each.begin_ns <= time_ns && time_ns <= each.end_ns) return each.id;
    return 0;
  }

  std::mt19937 random_;
};

void ExpectStrictNesting(const Track& track) {
  std::vector<int64_t> free_from_ns(track.slices.size() + 1, INT64_MIN);  // by parent + 1
  for (uint32_t i = 0; i < track.slices.size(); ++i) {
    const Slice& slice = track.slices[i];
    ASSERT_LE(slice.begin_ns, slice.end_ns);
    ASSERT_GE(slice.gap_ns, 0);
    ASSERT_LE(slice.gap_ns, slice.end_ns - slice.begin_ns);
    ASSERT_GE(slice.count, 1u);
    if (slice.parent == kNoIndex) {
      ASSERT_EQ(slice.depth, 0u);
    } else {
      ASSERT_LT(slice.parent, i);
      const Slice& parent = track.slices[slice.parent];
      ASSERT_EQ(slice.depth, parent.depth + 1);
      ASSERT_LE(parent.begin_ns, slice.begin_ns);
      ASSERT_GE(parent.end_ns, slice.end_ns);
      ASSERT_EQ(parent.dispatch, slice.dispatch);
      if (slice.used.has_value()) {
        ASSERT_TRUE(parent.used.has_value());
        ASSERT_LE(slice.used->cpu_ns, parent.used->cpu_ns);
        ASSERT_LE(slice.used->allocations, parent.used->allocations);
      }
    }
    int64_t& free_ns = free_from_ns[slice.parent == kNoIndex ? 0 : slice.parent + 1];
    ASSERT_GE(slice.begin_ns, free_ns);
    free_ns = slice.end_ns;
    if (i > 0) {
      ASSERT_GE(slice.begin_ns, track.slices[i - 1].begin_ns);
    }
  }
}

void ExpectWalkInOrder(const Track& track) {
  int64_t last_ns = INT64_MIN;
  std::vector<uint32_t> open;
  size_t entered = 0;
  WalkTrack(
      track,
      [&](uint32_t index) {
        ASSERT_GE(track.slices[index].begin_ns, last_ns);
        last_ns = track.slices[index].begin_ns;
        ASSERT_EQ(track.slices[index].parent, open.empty() ? kNoIndex : open.back());
        open.push_back(index);
        ++entered;
      },
      [&](uint32_t index) {
        ASSERT_EQ(open.back(), index);
        ASSERT_GE(track.slices[index].end_ns, last_ns);
        last_ns = track.slices[index].end_ns;
        open.pop_back();
      });
  ASSERT_TRUE(open.empty());
  ASSERT_EQ(entered, track.slices.size());
}

// A slice lies in its own dispatch, and one of none lies outside of all.
void ExpectOneDispatch(const Thread& thread, const Track& track) {
  for (const Slice& slice : track.slices) {
    for (const Dispatch& dispatch : thread.dispatches) {
      if (dispatch.id == slice.dispatch) {
        ASSERT_GE(slice.begin_ns, dispatch.begin_ns);
        ASSERT_LE(slice.end_ns, dispatch.end_ns);
      } else if (slice.dispatch != 0) {
        ASSERT_TRUE(slice.end_ns <= dispatch.begin_ns || slice.begin_ns >= dispatch.end_ns);
      }
    }
  }
}

int64_t RootTime(const Track& track) {
  return std::accumulate(track.slices.begin(), track.slices.end(), int64_t{0},
                         [](int64_t sum, const Slice& each) {
                           return sum + (each.parent == kNoIndex ? each.end_ns - each.begin_ns : 0);
                         });
}

TEST(RandomSlices, NestStrictlyAndKeepToTheirDispatch) {
  size_t slice_count = 0;
  for (uint32_t seed = 0; seed < 5'000; ++seed) {
    SCOPED_TRACE(seed);
    const RandomTrace random(seed);
    for (const Track& track : BuildTracks(random.trace)) {
      ExpectStrictNesting(track);
      ExpectWalkInOrder(track);
      if (!track.is_instrumented) ExpectOneDispatch(random.trace.threads[track.thread], track);
      slice_count += track.slices.size();
    }
    if (HasFatalFailure()) return;
  }
  EXPECT_GT(slice_count, 500'000u);
}

// Time without a stack that is known, of a call that is a thread's outermost, is in no weight.
TEST(RandomSlices, LastAsLongAsTheStacksWeigh) {
  for (uint32_t seed = 0; seed < 2'000; ++seed) {
    RandomTrace random(seed);
    for (Thread& thread : random.trace.threads) {
      if (seed % 2 == 0) thread.runs.clear();
      for (trace::Run& run : thread.runs)
        if (run.stack != kNoIndex && random.trace.nodes[run.stack].parent == kNoIndex)
          run.kind = RunKind::kSampled;
    }
    std::vector<int64_t> slices_ns(random.trace.threads.size()), weights_ns(random.trace.threads.size());
    std::vector<bool> is_sampled(random.trace.threads.size());
    for (const Track& track : BuildTracks(random.trace)) {
      if (track.is_instrumented && is_sampled[track.thread]) continue;
      is_sampled[track.thread] = !track.is_instrumented;
      slices_ns[track.thread] = RootTime(track);
    }
    const std::vector<uint32_t> functions = FunctionNumbers(random.trace);
    for (size_t i = 0; i < random.trace.threads.size(); ++i) {
      for (const Span& span : FindSpans(random.trace, random.trace.threads[i], functions)) {
        const int64_t extra_ns = span.weight_ns - (span.end_ns - span.begin_ns);
        ASSERT_GE(extra_ns, 0) << seed;
        slices_ns[i] += extra_ns;
      }
    }
    for (const StackTime& weighted : WeighStacks(random.trace).stacks) {
      ASSERT_GE(weighted.time_ns, 0) << seed;
      weights_ns[weighted.thread] += weighted.time_ns;
    }
    ASSERT_EQ(weights_ns, slices_ns) << seed;
  }
}

}  // namespace
}  // namespace lagwatch::trace
