// SPDX-License-Identifier: Apache-2.0
// The ids by which /proc lists this process and its threads. They are other ones than getpid(2) and gettid(2)
// return in a PID namespace whose process still sees the /proc of an outer one, as after
// unshare(CLONE_NEWPID) and fork(2).
#pragma once

#include <cstdint>

namespace lagwatch::base {

// Finds out whether the ids differ. To be called in each process before its threads are looked up in /proc; a
// forked child may be in another namespace. Opens no file. Context: any but signals.
void MatchProcIds();

// Whether they differ; processes are then not to be looked up by ids that system calls use. Context: any.
bool HasForeignProcIds();

// The id in /proc of this process's thread `tid`; 0 if it is not found. Context: watchdog.
int32_t ProcIdOfThread(int32_t tid);
// The reverse: the thread that has that id in /proc; 0 if it is gone. Context: watchdog.
int32_t ThreadOfProcId(int32_t proc_id);
// The id in /proc of this process's child `pid`; 0 if it is not found. Context: watchdog.
int32_t ProcIdOfChild(int32_t pid);

}  // namespace lagwatch::base
