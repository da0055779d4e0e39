// SPDX-License-Identifier: Apache-2.0
// Converts a report to a Sentry event, in an envelope; docs/sentry.md lists the fields.
// Context: background; pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "report/format/report.h"

namespace lagwatch::report {

// The hang of a report according to other records.
struct HangOutcome {
  std::optional<int64_t> duration_ns = std::nullopt;  // once it is over
  bool was_killed = false;                            // the process ended in it
};

// The event's id is the report's: 32 hexadecimal digits.
std::string SentryEventId(const Report& report);

// Of a hang. Not compressed.
std::string SentryEnvelope(const Report& report, const HangOutcome& outcome);

}  // namespace lagwatch::report
