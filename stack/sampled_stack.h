// SPDX-License-Identifier: Apache-2.0
// Reads the stack of a thread of another process that runs, without stopping it: the kernel copies registers
// and stack when the thread's processor time passes a mark. Source: perf_event_open(2),
// PERF_SAMPLE_STACK_USER.
#pragma once

#include <cstdint>

#include "stack/frames/raw_stack.h"
#include "stack/frames/stack.h"

namespace lagwatch::stack {

// The stack's innermost bytes that are copied.
inline constexpr size_t kMaxSampledStackBytes = 48 << 10;

// Fills `raw` with the stack of thread `tid` of the watched process as it is within the next `timeout_ns`; a
// thread that gets no processor in that time, or stays in the kernel, has none. `stacks` are the regions that
// may hold it. False, with the reason, also where the kernel permits no sampling
// (kernel.perf_event_paranoid above 2). Has one descriptor open meanwhile. Context: watchdog.
bool ReadSampledStack(int32_t tid, const StackRegions& stacks, int64_t timeout_ns, RawStack* raw,
                      NoStackReason* reason);

}  // namespace lagwatch::stack
