// SPDX-License-Identifier: Apache-2.0
// Decides up to which day old records may be removed. A wall clock that jumps must not remove young records:
// more than a day's worth is removed at once only if an operator confirmed the clock. docs/operations.md has
// the rules. Context: background.
#pragma once

#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <string>

#include "base/clock.h"
#include "base/status.h"
#include "collector/store/store.h"

namespace lagwatch::collector {

struct RetentionOptions {
  // The file that keeps the day reached across restarts. Empty: in memory.
  std::string state_path = {};
  // File that `lagwatch-collector retention confirm-clock` writes. Empty: the clock is never confirmed.
  std::string confirmed_path = {};
  std::function<int64_t()> mono_ns = [] { return base::SystemClock().MonoNs(); };
  // Without a state, begins at the oldest record that there is. False: at the day up to which retention would
  // have come when the newest record was made.
  bool begins_at_oldest = false;
};

struct RetentionState {
  bool is_held = false;  // more than a day's worth is too old, and the clock is in doubt
  int64_t reached_day = 0;
  int64_t wanted_day = 0;
};

class RetentionGuard {
 public:
  // Keeps today and the `days` before it. Borrows `store`.
  RetentionGuard(StoreMaintenance* store, int64_t days, std::function<int64_t()> wall_ms,
                 RetentionOptions options);

  // The day (since 1970 UTC) before which all may go now. Not thread-safe.
  base::Result<int64_t> Cutoff();
  // All before that day is gone: earlier than before when the clock went back. Not thread-safe.
  base::Status NoteReached(int64_t day);

  // Of the last Cutoff. Thread-safe.
  RetentionState state() const;

 private:
  base::Result<int64_t> ReachedDay(int64_t wanted_day);
  bool IsConfirmed(int64_t today) const;

  StoreMaintenance* const store_;
  const int64_t days_;
  const std::function<int64_t()> wall_ms_;
  const RetentionOptions options_;
  std::optional<int64_t> reached_day_;  // once it was read
  std::optional<int64_t> advanced_mono_ns_;
  mutable std::mutex mutex_;
  RetentionState state_;  // guarded by mutex_
};

// Notes that the wall clock is right now: retention goes on at once. Errors: kIo.
base::Status ConfirmClock(const std::string& confirmed_path, int64_t wall_ms);

}  // namespace lagwatch::collector
