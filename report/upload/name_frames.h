// SPDX-License-Identifier: Apache-2.0
// Names a report's frames on the machine it was made on, where the program's files are. Context: background.
#pragma once

#include <string>

#include "report/format/report.h"
#include "report/upload/frame_namer.h"

namespace lagwatch::report {

// Appends to `encoded` a Symbol for each function that `namer` knows and `report`, which is `encoded`
// decoded, does not name yet.
void NameFrames(const Report& report, FrameNamer* namer, std::string* encoded);

}  // namespace lagwatch::report
