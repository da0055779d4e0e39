// SPDX-License-Identifier: Apache-2.0
#include "watchdog/samples/expensive_sample.h"

#include "watchdog/loops/watch_options.h"

namespace lagwatch::watchdog {

const LoopSample& PickExpensiveSample(std::span<const LoopSample* const> samples,
                                      policies::ExpensiveStackRule rule) {
  const LoopSample* captured[WatchOptions::kMaxRingSize];
  uint64_t innermost[WatchOptions::kMaxRingSize];
  size_t indices[WatchOptions::kMaxRingSize];
  size_t count = 0;
  for (const LoopSample* sample : samples) {
    if (sample->stack.frame_count == 0) continue;
    captured[count] = sample;
    innermost[count] = sample->stack.InnermostFunctionHash();
    indices[count] = count;
    ++count;
  }
  if (count == 0) return *samples.back();
  if (rule == policies::ExpensiveStackRule::kLeaf)
    return *captured[policies::PickExpensiveLeaf({innermost, count})];
  auto function_at = [&](size_t sample, size_t depth) -> uint64_t {
    const auto frames = captured[sample]->stack.view();
    return depth < frames.size() ? frames[frames.size() - 1 - depth].FunctionHash() : 0;
  };
  return *captured[policies::PickExpensivePath({indices, count}, {innermost, count}, function_at)];
}

}  // namespace lagwatch::watchdog
