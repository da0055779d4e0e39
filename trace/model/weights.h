// SPDX-License-Identifier: Apache-2.0
// How long each stack lasted in all: what flame graphs and profiles show. Agrees with the slices, of the same
// spans, but for dispatches that are too short to be met by a look each, and for what threads that look at
// themselves in calls do between these looks. Context: background.
#pragma once

#include <cstdint>
#include <vector>

#include "trace/model/spans.h"
#include "trace/model/trace.h"

namespace lagwatch::trace {

struct WeightedStack {
  uint32_t thread = 0;        // index into Trace::threads
  uint32_t stack = kNoIndex;  // index into StackWeights::nodes
  int64_t time_ns = 0;        // with exactly this stack
  int64_t waited_ns = 0;      // of that, without a processor, as far as that is known
  uint64_t count = 0;         // looks, or calls
};

struct StackWeights {
  std::vector<StackNode> nodes;       // the trace's, and behind them those of instrumented calls
  std::vector<WeightedStack> stacks;  // by thread, then by stack, each once
};

// A thread whose stacks were never sampled is weighed by its instrumented calls.
StackWeights WeighStacks(const Trace& trace, const SliceOptions& options = {});

// How much time of a processor a look of a thread's CPU timer stands for.
struct CpuIntervals {
  int64_t main_ns = 0;
  int64_t others_ns = 0;
};

// How long each stack had a processor or waited, from `from_ns` until before `until_ns`. Running are those
// that CPU timers found running, which do not favour the calls in which threads look at themselves; the waits
// of a thread take no more than what is left of its time. A stack may be there twice: once it ran, once it
// waited.
StackWeights WeighRunningAndWaits(const Trace& trace, int64_t from_ns, int64_t until_ns,
                                  const CpuIntervals& intervals);

}  // namespace lagwatch::trace
