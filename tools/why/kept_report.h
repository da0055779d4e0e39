// SPDX-License-Identifier: Apache-2.0
// Keeps or sends the report of a process that was looked at. Context: background.
#pragma once

#include <string>

#include "base/status.h"
#include "sdk/moment/process_moment.h"

namespace lagwatch::tools {

// Writes the report into a spool directory, where `lagwatch reports` and `lagwatch upload` find it. Errors:
// those of the directory; kIo.
base::Status SaveReport(const sdk::ProcessMoment& moment, const std::string& spool_directory);

// Sends the report, and no other. Waits for 10 s at most. Errors: kInvalid for an endpoint that cannot be;
// kIo, kUnavailable with what the collector said.
base::Status SendReport(const sdk::ProcessMoment& moment, const std::string& endpoint,
                        const std::string& key);

}  // namespace lagwatch::tools
