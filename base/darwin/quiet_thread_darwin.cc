// SPDX-License-Identifier: Apache-2.0
#include "base/process/quiet_thread.h"

namespace lagwatch::base {

// A process has one descriptor table, for all of its threads.
const bool internal::kThreadsCanHaveOwnFiles = false;

bool internal::LeaveProgramFiles() { return false; }

}  // namespace lagwatch::base
