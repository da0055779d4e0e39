// SPDX-License-Identifier: Apache-2.0
#include "base/process/quiet_thread.h"

namespace lagwatch::base {

// bionic notes the owner of each descriptor in one table for the process (fdsan), and ends a process that
// closes a number of another owner: with two descriptor tables, one number may have two owners.
const bool internal::kThreadsCanHaveOwnFiles = false;

bool internal::LeaveProgramFiles() { return false; }

}  // namespace lagwatch::base
