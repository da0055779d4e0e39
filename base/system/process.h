// SPDX-License-Identifier: Apache-2.0
// Calls that not all systems have.
#pragma once

#include <csignal>

namespace lagwatch::base {

// Whether a system call that the kernel does not know fails with ENOSYS. False on Android, whose filter for
// apps ends the process: there only calls of its first versions may be made.
extern const bool kCanTryNewCalls;

// Drops the pending signals of `signals`, which the calling thread blocks. Context: any.
void DropPendingSignals(const sigset_t& signals);

// sigaction(2) of the C library itself: sanitizers and preloaded libraries that wrap the public name delay
// handlers or record them as the application's. Context: background. Linux and Android.
int SetSignalAction(int signal_number, const struct sigaction* action, struct sigaction* previous);

// Has `function` called at quick_exit(), where there is such a call. Context: background.
void CallAtQuickExit(void (*function)());

// A fence for two threads that only one of them pays for: a rare caller sees the stores and loads of a hot
// path in their order, although the hot path has no fence. Every other running thread of the process has
// passed a full memory barrier since the call: its stores from before are visible, its loads from after see
// ours. False when the kernel cannot (membarrier(2), Linux 4.14).
bool FenceAllThreads();

// Prepares the fences of this process and its children by fork() while it has one thread: later, the first
// fence waits for all processors (10 to 60 ms), and so does the end of the process. Does nothing in a process
// that may have more threads. Context: background.
void PrepareFences();
// Whether the next fence waits for nothing.
bool AreFencesPrepared();

}  // namespace lagwatch::base
