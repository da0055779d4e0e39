// SPDX-License-Identifier: Apache-2.0
// Selects the sample of a ring that represents its time best. Context: watchdog; pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace lagwatch::policies {

enum class ExpensiveStackRule : uint8_t {
  kPath,  // the heaviest path from the outermost function inwards
  kLeaf,  // the innermost function that was seen most often, as Matrix has it
};

// A sample with a stack.
struct WeighedSample {
  uint64_t innermost_function;
  int64_t spent_ns;  // the time that it stands for (sample_time.h)
};

// The samples come oldest first (at most a ring's length: the cost is quadratic), at least one. The innermost
// function that most time was spent in wins, of equals the one seen last; the answer is the index of its
// newest sample.
inline size_t PickExpensiveLeaf(std::span<const WeighedSample> samples) {
  size_t best = 0;
  int64_t best_ns = -1;
  for (size_t candidate = samples.size(); candidate-- > 0;) {
    int64_t spent_ns = 0;
    for (const WeighedSample& sample : samples.first(candidate + 1)) {
      if (sample.innermost_function == samples[candidate].innermost_function) spent_ns += sample.spent_ns;
    }
    // Going from newest to oldest, the first candidate of a function counts all its samples.
    if (spent_ns > best_ns) {
      best = candidate;
      best_ns = spent_ns;
    }
  }
  return best;
}

// Merges the samples' stacks into a tree of calls and walks it from the outermost function inwards, each time
// to the function that most time of the last one was spent in, of equals to the one seen last. The answer is
// the index of the newest sample that went the whole way. Unlike the leaf it does not mix up the callers of a
// function that many call, and all waits end in one of a few functions.
//
// `samples` are indices of `weighed`, oldest first, not empty, and are overwritten; `function_at(sample,
// depth)` is that sample's function so many calls from the outermost one, or 0 when its stack has no more.
// Costs at most the samples' number squared for each function of the path.
//
// If less than half of the time has the same outermost function, as when stacks are too deep to be copied
// whole, the paths say nothing, and the answer is that of PickExpensiveLeaf().
template <typename FunctionAt>
size_t PickExpensivePath(std::span<size_t> samples, std::span<const WeighedSample> weighed,
                         FunctionAt function_at) {
  for (size_t depth = 0;; ++depth) {
    uint64_t best = 0;
    int64_t best_ns = -1;
    int64_t all_ns = 0;
    for (size_t sample : samples) all_ns += weighed[sample].spent_ns;
    int64_t rest_ns = all_ns;
    for (size_t end = samples.size(); end > 0 && rest_ns > best_ns; --end) {  // less cannot win
      const uint64_t function = function_at(samples[end - 1], depth);
      int64_t spent_ns = 0;
      for (size_t sample : samples.first(end)) {
        if (function_at(sample, depth) == function) spent_ns += weighed[sample].spent_ns;
      }
      rest_ns -= weighed[samples[end - 1]].spent_ns;
      if (spent_ns <= best_ns) continue;  // also where it was counted already, with its newer samples
      best = function;
      best_ns = spent_ns;
    }
    if (depth == 0 && 2 * best_ns < all_ns) return PickExpensiveLeaf(weighed);
    auto kept = samples.begin();
    for (size_t sample : samples) {
      if (function_at(sample, depth) == best) *kept++ = sample;
    }
    samples = samples.first(static_cast<size_t>(kept - samples.begin()));
    if (best == 0 || samples.size() == 1) return samples.back();
  }
}

}  // namespace lagwatch::policies
