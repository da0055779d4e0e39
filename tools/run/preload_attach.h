// SPDX-License-Identifier: Apache-2.0
// Loads the library of `lagwatch run` and `lagwatch trace record` into a process that runs already, and ends
// its work there. Context: background. Linux.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>

#include "base/status.h"
#include "sdk/preload/environment/preload_config.h"

namespace lagwatch::tools {

struct Attached {
  int64_t stop_ns = 0;  // for which the process's own thread was stopped at most
  std::string text;     // of the answer
};

// Ok if the library can be loaded into the process. Errors: kNotFound, kInvalid, kUnauthorized, saying why
// not and what works instead.
base::Status CheckCanAttach(pid_t pid);

// Whether it has loaded the runtime of ThreadSanitizer.
bool HasThreadSanitizer(pid_t pid);

// Watches the process as `config` says. Errors: those of CheckCanAttach; kUnavailable if the library could
// not be loaded or the monitor not started.
base::Result<Attached> AttachPreload(pid_t pid, const sdk::PreloadConfig& config);

// Records the process as `config` says. Errors: likewise.
base::Status AttachRecorder(pid_t pid, const sdk::PreloadConfig& config);

// Has the process serve consoles of `lagwatch probe`: the path of its socket, as the process has it. Starts no
// watch. Errors: likewise.
base::Result<std::string> OpenProbes(pid_t pid, const sdk::PreloadConfig& config);

// The library stays loaded, without a thread. Errors: likewise; kNotFound if the process is not attached.
base::Result<Attached> DetachPreload(pid_t pid);

}  // namespace lagwatch::tools
