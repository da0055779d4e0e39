// SPDX-License-Identifier: Apache-2.0
// Removes lagwatch's own frames and threads from a report, so that no reader takes them for the program's.
// Clients do so themselves; older ones did not.
#pragma once

#include "report/format/report.h"

namespace lagwatch::report {

// Cuts frames of lagwatch's libraries and hooks from all stacks, and folds its threads
// into Report::own_threads.
void HideOwnParts(Report* report);

}  // namespace lagwatch::report
