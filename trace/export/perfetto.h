// SPDX-License-Identifier: Apache-2.0
// Perfetto's protobuf trace (https://perfetto.dev), for ui.perfetto.dev and trace_processor: processes and
// threads, slices with arguments, dispatches, counters, wakes as flows, stack samples with modules and build
// ids, and losses. May be appended to another trace. Context: background.
#pragma once

#include <string>

#include "trace/model/spans.h"
#include "trace/model/trace.h"

namespace lagwatch::trace {

std::string PerfettoTrace(const Trace& trace, const SliceOptions& options = {});

}  // namespace lagwatch::trace
