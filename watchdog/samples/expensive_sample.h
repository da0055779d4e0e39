// SPDX-License-Identifier: Apache-2.0
// Selects the sample of a hang that represents its time best. Context: watchdog; pure.
#pragma once

#include <span>

#include "policies/expensive_stack.h"
#include "watchdog/events/hang_sink.h"

namespace lagwatch::watchdog {

// Of `samples`, oldest first, 1 to WatchOptions::kMaxRingSize. Those without a stack do not count: a failure
// must not win by repeating. Where none has a stack, the newest.
const LoopSample& PickExpensiveSample(std::span<const LoopSample* const> samples,
                                      policies::ExpensiveStackRule rule);

}  // namespace lagwatch::watchdog
