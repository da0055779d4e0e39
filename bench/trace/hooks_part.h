// SPDX-License-Identifier: Apache-2.0
// Measures the cost of captures inside hooked calls.
#pragma once

namespace lagwatch::bench {

struct HookCosts {
  double sync_capture_ns;     // a capture with its totals, 30 frames deep
  double hook_skip_ns;        // added to a malloc and its free when no capture is due
  double hook_skip_clock_ns;  // added to a clock read
  double hook_skip_mutex_ns;  // added to taking and releasing a free mutex
  double hook_skip_read_ns;   // added to a call that may wait, and does not
  double install_ms;          // of all hooks in all modules
};

// By frame pointers. Context: background.
HookCosts MeasureHooks();

}  // namespace lagwatch::bench
