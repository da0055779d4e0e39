// SPDX-License-Identifier: Apache-2.0
// Serves a console as a probed process does, with the kernel's probes in place of lagwatch's library in the
// process: for static programs and those that are confined. The script runs in this process, a moment after
// each hit. Context: background.
#pragma once

#include <sys/types.h>

#include "base/status.h"
#include "tools/probe/service_client.h"

namespace lagwatch::tools {

// Starts a thread that serves until the client is gone, and takes the probes away then. Errors: kUnavailable
// without root, or on other processors than x86-64.
base::Result<ServiceClient> StartKernelService(pid_t pid);

}  // namespace lagwatch::tools
