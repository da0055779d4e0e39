// SPDX-License-Identifier: Apache-2.0
// Collapsed stacks (https://github.com/brendangregg/FlameGraph): "thread;outermost;innermost nanoseconds" in
// each line, equal stacks once. Context: background.
#pragma once

#include <string>

#include "trace/model/spans.h"
#include "trace/model/trace.h"

namespace lagwatch::trace {

// Sorted by stack. A ';' in a name becomes ','.
std::string CollapsedStacks(const Trace& trace, const SliceOptions& options = {});

}  // namespace lagwatch::trace
