// SPDX-License-Identifier: Apache-2.0
// Discounts calls through the C ABI that may allocate, wait or reach a cancellation point.
#pragma once

#include <atomic>

#include "base/process/cancellation.h"
#include "base/process/run_guarded.h"
#include "base/system/float_environment.h"

namespace lagwatch::sdk {

// Makes the call: lets no exception out, for which `otherwise` is returned, is no cancellation point of the
// caller's, and leaves its floating-point environment alone.
template <typename Result, typename Call>
Result Guarded(Result otherwise, Call call) noexcept {
  const base::ScopedNoCancellation no_cancellation;
  const base::ScopedFloatEnvironment floats;
  try {
    otherwise = call();
  } catch (...) {                                                 // no memory
    base::failure_count.fetch_add(1, std::memory_order_relaxed);  // a statistic
  }
  return otherwise;
}
template <typename Call>
void Guarded(Call call) noexcept {
  Guarded(0, [&call] {
    call();
    return 0;
  });
}

}  // namespace lagwatch::sdk
