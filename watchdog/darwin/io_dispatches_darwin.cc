// SPDX-License-Identifier: Apache-2.0
// No calls are hooked there.
#include "watchdog/io/io_dispatches.h"

namespace lagwatch::watchdog {

void IoDispatches::SetLimits(const IoOptions&, const base::TickScale&) {}
bool IoDispatches::Take() { return false; }
bool IoDispatches::is_waiting() const { return false; }
const WatchedLoop* IoDispatches::FindLoop(const LoopRegistry::Places&) const { return nullptr; }
const stack::RawStack* IoDispatches::RawStack() { return nullptr; }
bool IoDispatches::IsNews(uint64_t, int64_t) { return false; }
void IoDispatches::AddFacts(const base::TickScale&, FactList*) {}

}  // namespace lagwatch::watchdog
