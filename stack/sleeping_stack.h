// SPDX-License-Identifier: Apache-2.0
// Reads the stack of a thread that sleeps, where it lies, without disturbing it.
#pragma once

#include <cstdint>

#include "stack/frames/raw_stack.h"
#include "stack/frames/stack.h"
#include "stack/threads/thread_state.h"

namespace lagwatch::stack {

// Fills `raw` with the stack of `thread`, which was found in `blocked`. `stacks` are the regions that may
// hold it; `activity_fd` is the thread's ThreadFile::kActivity, or -1. False, with the reason, if nothing can
// be read or if the thread went on meanwhile. Context: watchdog.
bool ReadSleepingStack(const base::Thread& thread, const BlockedThread& blocked, const StackRegions& stacks,
                       int activity_fd, RawStack* raw, NoStackReason* reason);

// The stack's innermost bytes that are copied.
inline constexpr size_t kMaxSampledStackBytes = 48 << 10;

// Fills `raw` with the stack of thread `tid` of another process as it is within the next `timeout_ns`; a
// thread that gets no processor in that time, or stays in the kernel, has none. `stacks` are the regions that
// may hold it. False, with the reason, also where the kernel permits no sampling
// (kernel.perf_event_paranoid above 2). Has one descriptor open meanwhile. Context: watchdog.
bool ReadSampledStack(int32_t tid, const StackRegions& stacks, int64_t timeout_ns, RawStack* raw,
                      NoStackReason* reason);

}  // namespace lagwatch::stack
