// SPDX-License-Identifier: Apache-2.0
// Schedules the looks at a loop: never before one can matter. A dispatch that ends before its sampling window
// opens is not disturbed at all. Context: watchdog; pure.
#pragma once

#include <algorithm>
#include <cstdint>

namespace lagwatch::policies {

struct CheckSchedule {
  int64_t threshold_ns;        // a dispatch longer than this is a hang
  int64_t sample_interval_ns;  // between two stack samples inside the window
  int32_t ring_size;           // samples that a check looks at

  // Samples that no check could still find in the ring are not taken, and at least half of the
  // threshold stays undisturbed.
  int64_t window_ns() const { return std::min(sample_interval_ns * ring_size, threshold_ns / 2); }

  // The longest sleep of a watchdog while the loop is idle: a dispatch that starts right now needs its first
  // sample no earlier than that.
  int64_t idle_sleep_ns() const { return threshold_ns - window_ns(); }

  // When the samples for a check at `check_ns` begin.
  int64_t WindowStartNs(int64_t check_ns) const { return check_ns - window_ns(); }
};

}  // namespace lagwatch::policies
