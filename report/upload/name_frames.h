// SPDX-License-Identifier: Apache-2.0
// Names a report's frames on the machine it was made on, where the program's files are. Context: background.
#pragma once

#include <string>
#include <string_view>

#include "report/upload/frame_namer.h"

namespace lagwatch::report {

// The report with a Symbol appended for each function that `namer` knows and the report does not name yet.
// A malformed report is returned as it is: refusing it is the collector's business.
std::string NameFrames(std::string_view encoded_report, FrameNamer* namer);

}  // namespace lagwatch::report
