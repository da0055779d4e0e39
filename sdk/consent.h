// SPDX-License-Identifier: Apache-2.0
// What becomes of the files when a user takes consent back. Context: background.
#pragma once

#include "sdk/monitor.h"

namespace lagwatch::sdk {

// Removes from the spool directory what lagwatch keeps for this program (its app, by name): segments and set
// aside ones with records of it, its run records, its config, and what the ledger counts of it. What cannot
// be told to be another program's goes, too: a segment at once, what is in the ledger with the last program
// that uses the directory. Left alone: files with other names, links, what running processes are writing, the
// lock of the ledger, the ledger while another process sends, and all of a directory that
// report::CheckSpoolDirectory() refuses. To be called when the monitor is stopped. Waits for half a second at
// most for another process.
void EraseWhatIsKept(const MonitorOptions& options);

}  // namespace lagwatch::sdk
