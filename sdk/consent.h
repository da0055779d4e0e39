// SPDX-License-Identifier: Apache-2.0
// What becomes of the files when a user takes consent back. Context: background.
#pragma once

#include "sdk/monitor.h"

namespace lagwatch::sdk {

// Removes from the spool directory what lagwatch keeps for this program (its app, by name): segments and set
// aside ones with records of it, whose runs they are of, and its config. A segment that cannot be told to be
// another program's goes, too. What all programs of the directory share goes with the last of them.
// Left alone: files with other names, links, and what running processes are writing.
// To be called when the monitor is stopped.
void EraseWhatIsKept(const MonitorOptions& options);

}  // namespace lagwatch::sdk
