// SPDX-License-Identifier: Apache-2.0
// Reads what a loop's thread has counted and noted of its dispatches, each once.
#pragma once

#include <array>
#include <cstdint>

#include "policies/usage.h"
#include "watchdog/loops/dispatch_history.h"
#include "watchdog/loops/loop_probe.h"

namespace lagwatch::watchdog {

// One for each place of the registry, whatever loops come and go there: a probe counts on.
// Context: watchdog; not thread-safe.
class UsageReader {
 public:
  // Skips everything counted or recorded before.
  void Skip(const LoopProbe& probe);
  // Adds the dispatches that have ended since the last call. A loop that both times and only counts is
  // assumed to have done the one that it did last.
  void ReadCounts(const LoopProbe& probe, policies::LoopUsage* usage);
  // The next dispatch that was noted, oldest first; false when there is none. `lost_count` is how many before
  // it were overwritten.
  bool ReadNote(const LoopProbe& probe, DispatchHistory::Dispatch* note, uint64_t* lost_count);

 private:
  uint64_t ended_ = 0;
  std::array<uint64_t, policies::DurationHistogram::kBuckets> long_counts_{};
  uint64_t notes_read_ = 0;
};

}  // namespace lagwatch::watchdog
