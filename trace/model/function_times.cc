// SPDX-License-Identifier: Apache-2.0
#include "trace/model/function_times.h"

#include <algorithm>

#include "trace/model/functions.h"
#include "trace/model/weights.h"

namespace lagwatch::trace {

std::vector<FunctionTime> FindFunctionTimes(const Trace& trace, const SliceOptions& options) {
  return FindFunctionTimes(trace, WeighStacks(trace, options));
}

std::vector<FunctionTime> FindFunctionTimes(const Trace& trace, const StackWeights& weights) {
  const std::vector<uint32_t> functions = FunctionNumbers(trace);
  std::vector<FunctionTime> times(trace.frames.size());  // by the function's number
  std::vector<size_t> counted_in(trace.frames.size(), 0);
  for (uint32_t frame = 0; frame < functions.size(); ++frame) times[functions[frame]].frame = frame;
  for (size_t i = 0; i < weights.stacks.size(); ++i) {
    const StackTime& weighted = weights.stacks[i];
    for (uint32_t node = weighted.stack; node != kNoIndex; node = weights.nodes[node].parent) {
      const uint32_t function = functions[weights.nodes[node].frame];
      FunctionTime& time = times[function];
      if (node == weighted.stack) time.self_ns += weighted.time_ns;
      if (counted_in[function] == i + 1) continue;  // it called itself
      counted_in[function] = i + 1;
      time.total_ns += weighted.time_ns;
      time.waited_ns += weighted.waited_ns;
      time.count += weighted.count;
    }
  }
  std::erase_if(times, [](const FunctionTime& time) { return time.count == 0; });
  std::ranges::sort(times, [](const FunctionTime& a, const FunctionTime& b) {
    return a.self_ns != b.self_ns ? a.self_ns > b.self_ns : a.total_ns > b.total_ns;
  });
  return times;
}

}  // namespace lagwatch::trace
