// SPDX-License-Identifier: Apache-2.0
// A fence for two threads that only one of them pays for: a rare caller sees the stores and loads of a hot
// path in their order, although the hot path has no fence.
#pragma once

namespace lagwatch::base {

// Every other running thread of the process has passed a full memory barrier since the call: its stores from
// before are visible, its loads from after see ours. False when the kernel cannot (membarrier(2),
// Linux 4.14). Context: watchdog (one system call).
bool FenceAllThreads();

}  // namespace lagwatch::base
