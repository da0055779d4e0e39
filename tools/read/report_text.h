// SPDX-License-Identifier: Apache-2.0
// Formats the collector's reports as text for people. Answers must have the API's shape: a missing field
// throws nlohmann::json::exception. Context: background; pure.
#pragma once

#include <cstddef>
#include <string>

#include "tools/read/endpoint.h"

namespace lagwatch::tools {

// One report in full: header, most expensive stack, wait chain, timeline, threads.
std::string ReportText(const Json& report);

}  // namespace lagwatch::tools
