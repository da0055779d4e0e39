// SPDX-License-Identifier: Apache-2.0
// Reads the stack of a thread of the watched process that sleeps, where it lies, without disturbing it.
#pragma once

#include "stack/frames/raw_stack.h"
#include "stack/frames/stack.h"
#include "stack/threads/thread_state.h"

namespace lagwatch::stack {

// Fills `raw` with the stack of thread `tid`, which was found in `blocked`. `stacks` are the regions that may
// hold it; `activity_fd` is the thread's ThreadFile::kActivity, or -1. False, with the reason, if nothing can
// be read or if the thread went on meanwhile. Context: watchdog.
bool ReadSleepingStack(int tid, const BlockedThread& blocked, const StackRegions& stacks, int activity_fd,
                       RawStack* raw, NoStackReason* reason);

}  // namespace lagwatch::stack
