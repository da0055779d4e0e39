// SPDX-License-Identifier: Apache-2.0
// The collector's reports as text for people. Answers of the API's shape are taken for granted: what is
// missing throws nlohmann::json::exception. Context: background; pure.
#pragma once

#include <cstddef>
#include <string>

#include "tools/read/report_source.h"

namespace lagwatch::tools {

// One report in full: header, most expensive stack, wait chain, timeline, threads.
std::string ReportText(const Json& report);

}  // namespace lagwatch::tools
