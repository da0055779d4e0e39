// SPDX-License-Identifier: Apache-2.0
// The start of this process: its milestones, and whether it counts.
#pragma once

#include <lagwatch/c_types.h>

#include <atomic>
#include <cstdint>

#include "base/clock.h"
#include "policies/options/option_table.h"
#include "sdk/run/run_facts.h"
#include "watchdog/loops/loop_registry.h"

namespace lagwatch::sdk {

struct StartOptions {
  lw_start_kind kind = LW_START_UNWATCHED;
  int64_t cold_threshold_ns = policies::OptionTable::cold_start_ms.standard * base::kNsPerMs;
  int64_t warm_threshold_ns = policies::OptionTable::warm_start_ms.standard * base::kNsPerMs;
};

// The monitor's knowledge of the start when it begins. Times are CLOCK_MONOTONIC.
struct StartPlan {
  int64_t threshold_ns = 0;  // 0: unwatched
  bool is_warm = false;
  int64_t process_start_ns = 0;
  int64_t monitor_start_ns = 0;
};

// The program's notes on its start. Thread safety: all from any thread; wait-free.
class StartUp {
 public:
  // Only the first call counts.
  void NoteReady(int64_t now_ns) {
    int64_t none = 0;
    ready_ns_.compare_exchange_strong(none, now_ns);
  }
  // 0: not yet.
  int64_t ready_ns() const { return ready_ns_.load(); }
  // No user waited for this start. Returns false if the program is ready already.
  bool Withdraw() {
    if (ready_ns() != 0) return false;
    is_withdrawn_.store(true);
    return true;
  }
  bool is_withdrawn() const { return is_withdrawn_.load(); }
  // Returns true for one caller only: the one that reports this start.
  bool Claim() { return !is_claimed_.exchange(true); }

  // The start of a forked child is another one.
  void Reset() {
    ready_ns_.store(0);
    is_withdrawn_.store(false);
    is_claimed_.store(false);
  }

 private:
  std::atomic<int64_t> ready_ns_{0};
  std::atomic<bool> is_withdrawn_{false};
  std::atomic<bool> is_claimed_{false};
};

// The process's own.
StartUp& ProcessStartUp();

// `last_run` may be null. Context: background.
StartPlan PlanStart(const StartOptions& options, const RunFacts& now, const RunRecord* last_run);

// When this library was loaded. Context: any.
int64_t LibraryLoadNs();
// The times when the first dispatch began and the first frame was done, of all loops; 0 without one. Loops
// that only count have no first dispatch. Context: watchdog.
int64_t FirstDispatchNs(watchdog::LoopRegistry* registry);
int64_t FirstFrameNs(watchdog::LoopRegistry* registry);

}  // namespace lagwatch::sdk
