// SPDX-License-Identifier: Apache-2.0
// One side pays for a fence on both sides: what a hot path stores and then loads, in this order and without a
// fence, is seen so by a rare caller.
#pragma once

namespace lagwatch::base {

// Every other running thread of the process has passed a full memory barrier since the call: its stores from
// before are visible, its loads from after see ours. False when the kernel cannot (membarrier(2),
// Linux 4.14). Context: watchdog (one system call).
bool FenceAllThreads();

}  // namespace lagwatch::base
