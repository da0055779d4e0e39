// SPDX-License-Identifier: Apache-2.0
// Which of a ring's samples shows where the time went. Context: watchdog; pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace lagwatch::policies {

// `innermost_functions` are the samples' innermost functions, oldest first (at most a ring's length: the cost
// is quadratic). The function seen most often wins, of equals the one seen last; the answer is the index of
// its newest sample. `innermost_functions` must not be empty.
inline size_t PickExpensiveStack(std::span<const uint64_t> innermost_functions) {
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

}  // namespace lagwatch::policies
