// SPDX-License-Identifier: Apache-2.0
// Converts a Sentry event of a hang to records like those of our own clients. docs/sentry.md lists the
// fields. Context: background; pure.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "base/status.h"
#include "base/uuid.h"
#include "collector/sentry/hang.h"

namespace lagwatch::collector {

// Appends a Report and, when the hang is over, a HangEnd to a batch under construction. `project` is the
// DSN's. Errors: kInvalid when the event has no time; kTooLarge when it does not fit a report.
base::Status AppendHang(const nlohmann::json& event, const Hang& hang, const base::Uuid& event_id,
                        std::string_view project, std::string* batch);

}  // namespace lagwatch::collector
