// SPDX-License-Identifier: Apache-2.0
// Traces that exporters are tested with.
#pragma once

#include <string>
#include <vector>

#include "trace/model/trace.h"

namespace lagwatch::testing {

// One of an editor, with everything that a trace may hold: samples, calls that returned at once, waits and
// their wakers, totals, dispatches, instrumented calls beside samples, and a loss.
trace::Trace MakeSampleTrace();

// Names that break formats which do not look after them.
std::vector<std::string> HostileNames();
// Each of them as a function, a thread, a file, a module and a dispatch.
trace::Trace MakeHostileTrace();

// `run_count` samples of one thread, of stacks 20 deep.
trace::Trace MakeLongTrace(size_t run_count);

}  // namespace lagwatch::testing
