// SPDX-License-Identifier: Apache-2.0
// The use of a run's loops as a record of the spool, and as a note in the run's record. Context: watchdog.
#pragma once

#include "policies/usage.h"
#include "report/format/fixed_buffer.h"
#include "sdk/report/program_facts.h"
#include "sdk/run/run_record.h"
#include "watchdog/events/usage_period.h"

namespace lagwatch::sdk {

// Writes a Usage record. `suppressed` replaces the event's own counts. False when it does not fit.
bool EncodeUsage(const watchdog::UsageEvent& event, const policies::SuppressedCounts& suppressed,
                 const ProgramFacts& facts, report::FixedBuffer* buffer);

// All loops together, in the run record's units.
RunUsage SumOf(const watchdog::UsageEvent& event, const policies::SuppressedCounts& suppressed,
               const policies::Scrubber& scrubber);

}  // namespace lagwatch::sdk
