// SPDX-License-Identifier: Apache-2.0
// Brings the recorder into a process that runs already. Context: background. Linux.
#pragma once

#include <sys/types.h>

#include "base/status.h"
#include "sdk/preload/environment/preload_config.h"

namespace lagwatch::tools {

// Has process `pid` load the library, which stays, and record as `config` says. Errors: those of
// RemoteCaller::Stop; kInvalid when the process has another C library than this program; kUnavailable when it
// could not load the library or start the recorder.
base::Status AttachRecorder(pid_t pid, const sdk::PreloadConfig& config);

}  // namespace lagwatch::tools
