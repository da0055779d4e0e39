// SPDX-License-Identifier: Apache-2.0
// Drops a process's privileges before it reads untrusted files. Context: background, of a process
// with one thread.
#pragma once

#include <chrono>

namespace lagwatch::collector {

// From here on this process and no child of its opens files, makes processes, asks the network, gains
// privileges, writes files, leaves a core or takes more than 2 GiB of memory; it may have `max_files` open.
// False when the system does not let it. Under sanitizers, which need more, only some of it holds.
bool EnterSandbox(unsigned max_files);

// The process is ended unless this is called again within `time`; zero: never.
void SetTimeLimit(std::chrono::seconds time);

}  // namespace lagwatch::collector
