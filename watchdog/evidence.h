// SPDX-License-Identifier: Apache-2.0
// What a watched thread is doing and what it has used, as evidence for the verdict: docs/detection.md.
#pragma once

#include <cstdint>

#include "policies/verdict.h"
#include "stack/thread_state.h"

namespace lagwatch::watchdog {

// Looks at thread `tid`; false when it is gone. Takes three small files of /proc, a fourth for a thread that
// does not run: 22 to 30 µs on a two-core virtual machine. Context: watchdog.
bool LookAtThread(int32_t tid, policies::ThreadLook* look);

// What a thread waits for that sleeps at `blocked` in `state` (S or D). A descriptor is named by the link in
// /proc alone: the file itself is not asked, for its disk or server may be what hangs. Context: watchdog.
policies::Doing WhatItWaitsFor(const stack::BlockedThread& blocked, char state);

}  // namespace lagwatch::watchdog
