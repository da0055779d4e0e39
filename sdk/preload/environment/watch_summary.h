// SPDX-License-Identifier: Apache-2.0
// Reports on this process as a whole: that it is not watched, and at its end what was
// watched. Context: background.
#pragma once

#include "sdk/preload/environment/preload_config.h"

namespace lagwatch::sdk {

// To be called before main().
void BeginSummary(const PreloadConfig& config);

// Leaves a note in the spool directory, once per process. No exception leaves it.
void NoteUnwatched(const char* why);

// A loop is watched from now on, on a thread of its own.
void CountWatchedLoop();

// Makes EndSummary() do nothing: the process is about to confine itself (seccomp), and opening a file
// may end it.
void AbandonSummary();
// Takes back AbandonSummary() and the note of this process. No exception leaves it.
void ResumeSummary();

// At the process's end: with --verbose a line on stderr, if that is still the file that it was at the start;
// a note when a process that has run for a while had no loop to watch.
void EndSummary();

}  // namespace lagwatch::sdk
