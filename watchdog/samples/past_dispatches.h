// SPDX-License-Identifier: Apache-2.0
// A loop's history, as reports have it.
#pragma once

#include <span>
#include <string_view>

#include "base/ticks.h"
#include "policies/hang_parts.h"
#include "stack/code/module_map.h"
#include "watchdog/loops/dispatch_history.h"

namespace lagwatch::watchdog {

// Ages and durations are in whole steps, counted on the clock, so that a dispatch is the same number of them
// in every report, and small on the way to the collector.
inline constexpr int64_t kHistoryStepNs = 100'000;

// A history as it was at one moment, and the texts that it borrows.
struct PastDispatchRoom {
  policies::PastDispatchOf<std::string_view> dispatches[DispatchHistory::kMaxDispatches];
  char tags[DispatchHistory::kMaxDispatches][DispatchHistory::kMaxTagBytes];
};

// Copies the past dispatches to `room`, oldest first; `modules` place functions that are tags. `history` may
// be null. Context: watchdog.
std::span<const policies::PastDispatchOf<std::string_view>> ReadPastDispatches(
    const DispatchHistory* history, const base::TickScale& tick_scale, const base::Clock& clock,
    const stack::ModuleMap& modules, PastDispatchRoom* room);

}  // namespace lagwatch::watchdog
