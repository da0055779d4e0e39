// SPDX-License-Identifier: Apache-2.0
// A report on request: the stacks of all threads, whether or not a loop hangs.
#pragma once

#include "watchdog/watch_tools.h"
#include "watchdog/loops/dump_requests.h"

namespace lagwatch::watchdog {

// Captures all threads and passes them to the sink, as a report of kind kDump whose tag is the request's
// reason. It is the report of `loop`'s thread, or of the program's first thread if that is null: that
// thread's stack is the expensive one, and its wait chain is included. `sample` is room for its stack.
// Returns false if the report was lost. Context: watchdog.
bool MakeDump(const DumpRequest& request, const WatchedLoop* loop, LoopSample* sample,
              const WatchTools& tools);

}  // namespace lagwatch::watchdog
