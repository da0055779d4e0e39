// SPDX-License-Identifier: Apache-2.0
// Folds the threads of a process that do the same, so that hundreds of them can be read. Context: background;
// pure.
#pragma once

#include <vector>

#include "sdk/moment/process_moment.h"
#include "tools/read/endpoint.h"
#include "tools/why/explanation.h"

namespace lagwatch::tools {

// The threads of `report`, without the one that matters: those that do not idle first, greater groups before
// smaller ones.
std::vector<ThreadGroup> GroupThreads(const sdk::ProcessMoment& moment, const Json& report);

}  // namespace lagwatch::tools
