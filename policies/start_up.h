// SPDX-License-Identifier: Apache-2.0
// Decides whether a program's start is a warm one, and how long it may take. Context: any; pure.
#pragma once

#include <cstdint>

namespace lagwatch::policies {

// The evidence of the same program's last run, at its next start.
struct LastRunTraces {
  bool is_same_boot = false;
  bool is_same_build = false;      // by build id; false when it has none
  int64_t since_last_seen_ms = 0;  // may be negative: the wall clock can jump
};

// Warm when the files that the start reads are most likely still in memory: the same build ran since the
// machine was started, and was last seen no more than ten minutes ago.
inline bool IsWarmStart(const LastRunTraces& last_run) {
  constexpr int64_t kWarmForMs = 10 * 60 * 1000;
  return last_run.is_same_boot && last_run.is_same_build && last_run.since_last_seen_ms >= 0 &&
         last_run.since_last_seen_ms <= kWarmForMs;
}

}  // namespace lagwatch::policies
