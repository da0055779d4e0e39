// SPDX-License-Identifier: Apache-2.0
// No calls are hooked there, and there are no files of /proc and sysfs.
#include "watchdog/facts/machine_facts.h"
#include "watchdog/facts/schedule_facts.h"
#include "watchdog/io/io_dispatches.h"

namespace lagwatch::trace {
constinit ThreadIoTable g_thread_io{};
}

namespace lagwatch::watchdog {

IoDispatches::IoDispatches() = default;
void IoDispatches::AskForModules(int64_t) {}
void IoDispatches::Wipe() {}
void IoDispatches::SetLimits(const IoOptions&, const base::TickScale&) {}
bool IoDispatches::Take() { return false; }
bool IoDispatches::is_waiting() const { return false; }
const WatchedLoop* IoDispatches::FindLoop(const LoopRegistry::Places&) const { return nullptr; }
const stack::RawStack* IoDispatches::RawStack() { return nullptr; }
bool IoDispatches::IsNews(uint64_t, int64_t) { return false; }
void IoDispatches::AddFacts(const base::TickScale&, FactList*) {}

Schedule ReadSchedule(const base::Thread&) { return {}; }
void AddSchedule(const Schedule&, FactList*) {}
void ScheduleWatch::AddChanges(const Schedule&, const base::Thread&, int64_t, stack::CodeMap*, FactList*) {}
void ProcessorFacts::Begin() {}
void ProcessorFacts::Add(int32_t, FactList*) {}
void PowerFacts::Refresh(int64_t) {}
void PowerFacts::Add(int64_t, FactList*) const {}

}  // namespace lagwatch::watchdog
