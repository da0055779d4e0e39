// SPDX-License-Identifier: Apache-2.0
// Of a process that watches another one from outside.
#pragma once

#include <atomic>
#include <cstdint>

namespace lagwatch::watchdog {

// When the last look at the loops began that all of them know of by now (CLOCK_MONOTONIC); 0 before the first
// one. A dispatch that has ended since is still under way here, and a busy machine delays the next look.
// Context: any.
inline constinit std::atomic<int64_t> outside_looked_ns{0};

// Whether a dispatch is known to be under way only since the process's window does not answer. Context: any.
inline constinit std::atomic<bool> window_is_unanswered{false};

// The thread that sleeps in a lock or for a disk, and of which no loop is known: its dispatch has begun
// before it went to sleep. 0: none. Context: any.
inline constinit std::atomic<int32_t> found_frozen_tid{0};

}  // namespace lagwatch::watchdog
