// SPDX-License-Identifier: Apache-2.0
// Chooses the threads to watch under `--threads auto`: see policies/loop_choice.h.
#pragma once

#include <cstdint>

#include "policies/loop_choice.h"
#include "watchdog/loops/loop_registry.h"

namespace lagwatch::sdk {

// Of a thread that is not watched (yet).
struct CandidateWaits {
  policies::WaitHistory history;
  int64_t changed_ns = 0;  // when its last wait began or ended; 0: none did
};

// Before a wait of a thread that is not the main one. Context: hot.
void NoteCandidateWaits(CandidateWaits* candidate);
// After a wait: whether ChooseThread() may choose the thread by now. Context: hot.
bool IsChoiceDue(CandidateWaits* candidate);
// Whether the calling thread is to be watched from now on. Reads a file under /proc, 50 times a second at
// most. Context: background.
bool ChooseThread(const CandidateWaits& candidate);
// The main thread's loop is watched. Context: any, as for the rest.
void NoteMainLoop(const watchdog::WatchedLoop* loop);
// Whether the main thread has turned out to run a loop since others were chosen: then they are let go.
bool HasMainLoopReturned();
// A thread that was chosen is watched no longer.
void NoteChosenThreadLeft();
// In a forked child, by its only thread, which is the main one now.
void ForgetThreadChoice();

}  // namespace lagwatch::sdk
