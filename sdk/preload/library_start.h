// SPDX-License-Identifier: Apache-2.0
// The library's begin and end in a process: with the program, in its constructor and its destructor, or in a
// process that runs already. Context: background.
#pragma once

#include <string>

#include "sdk/preload/environment/preload_config.h"
#include "sdk/probe/process_probes.h"

namespace lagwatch::sdk {

// Whether a process that runs already may be watched or recorded as `config` says: it has no seccomp filters
// that the command does not have.
bool MayRunAttached(const PreloadConfig& config);

// Watches this process as `config` says, from a thread of lagwatch's, after the library was loaded into the
// running process; its hooks are not in place yet. Returns why it cannot; empty when it can.
std::string BeginAttached(const PreloadConfig& config);
// OpenProbes(), for scripts that may be at this process's loops.
OpenedProbes OpenProbesHere(const std::string& directory);
// Stops the monitor and forgets all loops; the hooks are not in place any more, except for threads that are
// inside them.
void EndAttached();

// In fork_handlers.cc: once per process, before other threads may fork.
void AddForkHandlers();

}  // namespace lagwatch::sdk
