// SPDX-License-Identifier: Apache-2.0
// Cuts the time around an event out of the flight recorder. Context: background.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "report/format/trace_record.h"
#include "sdk/report/program_facts.h"
#include "sdk/trace/trace_options.h"
#include "trace/record/arena.h"

namespace lagwatch::sdk {

// So long after an event a trace goes on, and the recorder is waited for.
inline constexpr int64_t kTraceAfterNs = 250 * base::kNsPerMs;

// None if the recorder has nothing of that time. A trace larger than `options.max_bytes` is shortened, from
// its begin, and says so. Texts are scrubbed as those of reports.
std::optional<report::TraceRecord> DumpTrace(const trace::Arena& arena, const TraceEvent& event,
                                             const TraceOptions& options, const ProgramFacts& facts);

}  // namespace lagwatch::sdk
