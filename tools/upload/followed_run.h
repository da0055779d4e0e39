// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <string>

namespace lagwatch::tools {

// Whether a process that `lagwatch run` follows is alive: one that has a run record in the spool directory
// and was started, itself or its parents, by process `run_pid`. A process that has watched no loop yet, or
// whose environment this user cannot read, is not found. Context: background.
bool IsFollowedRunAlive(const std::string& spool_directory, pid_t run_pid);

}  // namespace lagwatch::tools
