// SPDX-License-Identifier: Apache-2.0
// Decides whether the process's limits leave room for a monitor.
#pragma once

#include "base/status.h"

namespace lagwatch::sdk {

// Errors: kUnavailable, with the reason for lw_why_off(): too little address space is left (RLIMIT_AS,
// RLIMIT_DATA) to start without taking memory that the program needs, or a seccomp filter confines the
// process and may not know our system calls. A filter that also confines the first process of the pid
// namespace is a container's. Context: background.
base::Status CheckCanRunHere(bool is_traced, bool seccomp_is_allowed);

}  // namespace lagwatch::sdk
