// SPDX-License-Identifier: Apache-2.0
// The facts in every report: the process, its control group and the machine at that moment, and the
// watchdog's own cost so far: docs/detection.md has the list.
#pragma once

#include "watchdog/facts/schedule_facts.h"
#include "watchdog/watch_tools.h"

namespace lagwatch::watchdog {

// Unknown facts are left out. Reads a dozen small files, which takes 110 µs on a two-core virtual machine; a
// Linux before 6.2 adds 0.3 µs for each open file, up to 4096 of them. Context: watchdog, for a report only.
void AddProcessFacts(const WatchTools& tools, FactList* facts);

// The scheduling of the watched thread, which is returned, too, what slows the machine, and whether the
// application is in the foreground. Reads a dozen small files, about 60 µs. Context: watchdog, for a report
// only.
Schedule AddThreadFacts(int32_t tid, const WatchTools& tools, FactList* facts);

// The time in ns that the program's threads have spent in the capture signal's handler, as the counters of
// `tools` have it then. Context: watchdog.
uint64_t CountPauses(const WatchTools& tools);

// The watchdog's own cost; AddProcessFacts() adds it, too. Context: watchdog.
void AddOwnCost(const WatchTools& tools, FactList* facts);

// Says so when samples have no stack: how many, and why the last one of them has none. Context: watchdog.
void AddNoStackFacts(std::span<const LoopSample* const> samples, FactList* facts);

// The task of an event loop that the thread of `stack` ran, and the tasks that wait for it, if a script's
// reader found them. The texts are valid until the next capture. Context: watchdog.
void AddTaskFacts(const stack::Stack& stack, const WatchTools& tools, FactList* facts);

}  // namespace lagwatch::watchdog
