// SPDX-License-Identifier: Apache-2.0
// How long a thread ran or wanted to, and how often it slept, as the kernel counts it.
#pragma once

#include <cstdint>

namespace lagwatch::watchdog {

struct ThreadRunTime {
  int64_t runnable_ns;         // on a processor, or ready and waiting for one
  int64_t voluntary_switches;  // how often it went to sleep, however shortly
};

// False when the thread is gone or the kernel does not say. Context: watchdog (three small files at most).
bool ReadThreadRunTime(int tid, ThreadRunTime* run_time);

}  // namespace lagwatch::watchdog
