// SPDX-License-Identifier: Apache-2.0
// A loop's history, as reports have it.
#pragma once

#include <span>

#include "base/ticks.h"
#include "watchdog/dispatch_history.h"
#include "watchdog/hang_sink.h"

namespace lagwatch::watchdog {

// Ages and durations are in whole steps, counted on the clock, so that a dispatch is the same number of them
// in every report, and small on the way to the collector.
inline constexpr int64_t kHistoryStepNs = 100'000;

// Reads the recorded dispatches, oldest first, into `room`, which has DispatchHistory::kMaxDispatches places.
// `history` may be null. Context: watchdog.
std::span<const PastDispatch> ReadPastDispatches(const DispatchHistory* history,
                                                 const base::TickScale& tick_scale, const base::Clock& clock,
                                                 PastDispatch* room);

}  // namespace lagwatch::watchdog
