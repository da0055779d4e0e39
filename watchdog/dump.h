// SPDX-License-Identifier: Apache-2.0
// A report that somebody asked for: what every thread is doing, whether or not a loop is in a lag.
#pragma once

#include "watchdog/dump_requests.h"
#include "watchdog/loop_watch.h"

namespace lagwatch::watchdog {

// Captures all threads and tells the sink, as a report of kind kDump whose tag is the request's reason. It is
// the report of `loop`'s thread, or of the program's first thread when that is null: that thread's stack is
// the expensive one, and who it waits for is told. `sample` is room for its stack. False when the report was
// lost. Context: watchdog.
bool MakeDump(const DumpRequest& request, const WatchedLoop* loop, LoopSample* sample,
              const WatchTools& tools);

}  // namespace lagwatch::watchdog
