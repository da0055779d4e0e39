// SPDX-License-Identifier: Apache-2.0
// Selects the sample of a ring that represents its time best. Context: watchdog; pure.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

namespace lagwatch::policies {

enum class ExpensiveStackRule : uint8_t {
  kPath,  // the heaviest path from the outermost function inwards
  kLeaf,  // the innermost function that was seen most often, as Matrix has it
};

// `innermost_functions` are the samples' innermost functions, oldest first (at most a ring's length: the cost
// is quadratic). The function seen most often wins, of equals the one seen last; the answer is the index of
// its newest sample. `innermost_functions` must not be empty.
inline size_t PickExpensiveLeaf(std::span<const uint64_t> innermost_functions) {
  size_t best = 0;
  size_t best_repeats = 0;
  for (size_t candidate = innermost_functions.size(); candidate-- > 0;) {
    size_t repeats = 0;
    for (size_t i = 0; i <= candidate; ++i) {
      repeats += innermost_functions[i] == innermost_functions[candidate];
    }
    // Going from newest to oldest, the first candidate of a function counts all its samples.
    if (repeats > best_repeats) {
      best = candidate;
      best_repeats = repeats;
    }
  }
  return best;
}

// Merges the samples' stacks into a tree of calls and walks it from the outermost function inwards, each time
// to the function that most samples of the last one went on to, of equals to the one seen last. The answer is
// the index of the newest sample that went the whole way. Unlike the leaf it does not mix up the callers of a
// function that many call, and all waits end in one of a few functions.
//
// `samples` are indices, oldest first, not empty, and are overwritten; `function_at(sample, depth)` is that
// sample's function so many calls from the outermost one, or 0 when its stack has no more. Costs at most the
// samples' number squared for each function of the path.
//
// Where fewer than half of the samples have the same outermost function, as when stacks are too deep to be
// copied whole, the paths say nothing, and the answer is that of PickExpensiveLeaf().
template <typename FunctionAt>
size_t PickExpensivePath(std::span<size_t> samples, std::span<const uint64_t> innermost_functions,
                         FunctionAt function_at) {
  for (size_t depth = 0;; ++depth) {
    uint64_t best = 0;
    size_t best_count = 0;
    for (size_t end = samples.size(); end > best_count; --end) {  // fewer cannot win
      const uint64_t function = function_at(samples[end - 1], depth);
      const auto count = static_cast<size_t>(std::ranges::count_if(
          samples.first(end), [&](size_t sample) { return function_at(sample, depth) == function; }));
      if (count <= best_count) continue;  // also where it was counted already, with its newer samples
      best = function;
      best_count = count;
    }
    if (depth == 0 && 2 * best_count < samples.size()) return PickExpensiveLeaf(innermost_functions);
    auto kept = samples.begin();
    for (size_t sample : samples) {
      if (function_at(sample, depth) == best) *kept++ = sample;
    }
    samples = samples.first(best_count);
    if (best == 0 || samples.size() == 1) return samples.back();
  }
}

}  // namespace lagwatch::policies
