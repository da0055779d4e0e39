// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "bench/trace/figures.h"

namespace lagwatch::bench {

// Nanoseconds of one call of the measured function with a probe of the kernel, above the bare call: counted
// by the kernel itself (uprobe_…) and by bpftrace's program. Null where this machine has none, or forbids it;
// stderr says why.
void MeasureUprobeCosts(Figures* figures);

}  // namespace lagwatch::bench
