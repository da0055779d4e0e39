// SPDX-License-Identifier: Apache-2.0
// Reads what a watched thread is doing and what it has used, as evidence for the verdict: docs/detection.md.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/process/process.h"
#include "policies/verdict.h"
#include "stack/threads/thread_state.h"

namespace lagwatch::watchdog {

// Looks at `thread`; returns false if it is gone. `before` is an earlier look at it, or null: facts
// that cannot have changed since are taken from there. On a two-core virtual machine that takes 15 µs for a
// thread that has slept since, 27 µs for one that runs, 33 µs for one that has run and sleeps. `kept` may
// be null. Context: watchdog.
bool LookAtThread(const base::Thread& thread, const policies::ThreadLook* before, policies::ThreadLook* look,
                  const stack::ThreadFiles* files = nullptr);
// The same for a thread that has run all the time since `before`: then it cannot have waited, and its use
// besides CPU time is left for the next look. Returns false, and changes nothing, if it has not; in less than
// 2 µs. Context: watchdog.
bool HasRunThroughout(const base::Thread& thread, const policies::ThreadLook& before,
                      policies::ThreadLook* look);

// The kind of wait of `thread`, which sleeps at `blocked` in `state` (S or D). A descriptor is
// identified by the link in /proc alone: the file itself is not accessed, since its disk or server may be
// what hangs. Context: watchdog.
policies::Doing WhatItWaitsFor(const base::Thread& thread, const stack::BlockedThread& blocked, char state);

// Whether the call waits for an event for as long as that takes: a signal, a child, a message, a connection,
// a thread's end. Not a lock, and nothing with a timeout. Context: any; pure.
bool WaitsForEvent(const stack::BlockedThread& blocked);

// The same for a hidden thread (stack::ThreadActivity::kHidden), by the kernel's function that it waits in.
policies::Doing WhatHiddenWaitsFor(std::string_view channel, char state);

}  // namespace lagwatch::watchdog
