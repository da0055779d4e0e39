// SPDX-License-Identifier: Apache-2.0
// The process that sends a watched program's reports, beside it: the program itself carries no HTTP client,
// and its reports are sent even if it was killed.
#pragma once

#include <lagwatch/options.h>
#include <sys/types.h>

#include "base/status.h"

namespace lagwatch::tools {

// Starts `lagwatch upload …` as a process that is no child of the caller and shares neither its
// terminal nor its files. It lives until the process `followed_pid`, whatever program that becomes, and those
// that are followed have ended and the spool is sent (or a while has passed). Context: background; the
// caller has no other threads.
base::Status StartSidecar(const Options& options, pid_t followed_pid);

}  // namespace lagwatch::tools
