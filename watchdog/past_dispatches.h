// SPDX-License-Identifier: Apache-2.0
// A loop's history as reports tell it.
#pragma once

#include <span>

#include "base/ticks.h"
#include "watchdog/dispatch_history.h"
#include "watchdog/hang_sink.h"

namespace lagwatch::watchdog {

// What is kept, oldest first, written to `room`, which has DispatchHistory::kMaxDispatches places. `history`
// may be null. Context: watchdog.
std::span<const PastDispatch> ReadPastDispatches(const DispatchHistory* history,
                                                 const base::TickScale& tick_scale, PastDispatch* room);

}  // namespace lagwatch::watchdog
