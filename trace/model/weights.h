// SPDX-License-Identifier: Apache-2.0
// Sums the time of each stack and of each function, for flame graphs and profiles. The sums equal
// those of the slices, which are made of the same spans. Two things differ: dispatches too short to be
// sampled, and the time between captures inside hooked calls. Context: background.
#pragma once

#include <cstdint>
#include <vector>

#include "trace/model/spans.h"
#include "trace/model/trace.h"

namespace lagwatch::trace {

// The time that a thread spent with a stack.
struct StackTime {
  uint32_t thread = 0;        // index into Trace::threads
  uint32_t stack = kNoIndex;  // index into StackWeights::nodes
  int64_t time_ns = 0;        // with exactly this stack
  int64_t waited_ns = 0;      // of that, without a processor, as far as that is known
  uint64_t count = 0;         // looks, or calls
};

struct StackWeights {
  std::vector<StackNode> nodes;   // the trace's, and behind them those of instrumented calls
  std::vector<StackTime> stacks;  // by thread, then by stack, each once
};

// A thread whose stacks were never sampled is weighed by its instrumented calls.
StackWeights WeighStacks(const Trace& trace, const SliceOptions& options = {});

// The CPU time that a sample of a thread's CPU timer stands for.
struct CpuIntervals {
  int64_t main_ns = 0;
  int64_t others_ns = 0;
};

// Sums the time that each stack had a processor or waited, from `from_ns` until before `until_ns`. Stacks
// count as running if CPU timers found them running, since these have no bias to hooked calls; the waits of a
// thread take no more than the rest of its time. A stack may occur twice: once as running, once as waiting.
StackWeights WeighRunningAndWaits(const Trace& trace, int64_t from_ns, int64_t until_ns,
                                  const CpuIntervals& intervals);

struct FunctionTime {
  uint32_t frame = 0;     // index into Trace::frames: the function's that took the most time
  int64_t self_ns = 0;    // it was the innermost one
  int64_t total_ns = 0;   // it was anywhere on the stack, once however often it stood there
  int64_t waited_ns = 0;  // of total_ns, without a processor, as far as that is known
  uint64_t count = 0;     // looks or calls that saw it
};

// Of all threads together, the most self time first.
std::vector<FunctionTime> FindFunctionTimes(const Trace& trace, const SliceOptions& options = {});
// The same of `weights`, which are the trace's.
std::vector<FunctionTime> FindFunctionTimes(const Trace& trace, const StackWeights& weights);

}  // namespace lagwatch::trace
