// SPDX-License-Identifier: Apache-2.0
// Reports on this process as a whole: that it is not watched, and at its end what was
// watched. Context: background.
#pragma once

#include "sdk/preload/environment/preload_config.h"

namespace lagwatch::sdk {

// To be called before main().
void BeginSummary(const PreloadConfig& config);

// Reasons for NoteUnwatched().
inline constexpr char kWhyConfined[] =
    "a seccomp filter confines it, which may not allow lagwatch's system calls";
inline constexpr char kWhyDispatched[] = "it has its system calls dispatched to itself";
inline constexpr char kWhyNoTicks[] = "it forbids the use of the time stamp counter";
inline constexpr char kWhyNoKey[] = "it has taken all keys of thread-specific data (PTHREAD_KEYS_MAX)";
inline constexpr char kWhyNoMemory[] = "there is no memory left";

// Leaves a note in the spool directory, once per process. No exception leaves it.
void NoteUnwatched(const char* why);

// A loop is watched from now on, on a thread of its own.
void CountWatchedLoop();

// Makes EndSummary() do nothing: the process is about to confine itself (seccomp), and opening a file
// may end it.
void AbandonSummary();
// Takes back AbandonSummary() and the note of this process. No exception leaves it.
void ResumeSummary();

// Before the monitor ends with the process: notes which threads had no loop, while lagwatch's are known to be
// its own. No exception leaves it.
void NoteThreadsAtEnd();

// At the process's end: with --verbose a line on stderr, if that is still the file that it was at the start;
// a note when a process that has run for a while had no loop to watch.
void EndSummary();

}  // namespace lagwatch::sdk
