// SPDX-License-Identifier: Apache-2.0
// Erases the files when a user withdraws consent. Context: background.
#pragma once

#include "sdk/monitor.h"

namespace lagwatch::sdk {

// Removes this program's data (by its app's name) from the spool directory: segments and set aside ones with
// records of it, its run records, its config, and the ledger's counts of it. Data that cannot be attributed
// to another program is removed, too: a segment at once, the ledger's with the last program that uses the
// directory. Left alone: files with other names, links, files that running processes are writing, the lock of
// the ledger, the ledger while another process sends, and everything in a directory that
// report::CheckSpoolDirectory() refuses. To be called when the monitor is stopped. Waits for half a second at
// most for another process.
void EraseWhatIsKept(const MonitorOptions& options);

}  // namespace lagwatch::sdk
