// SPDX-License-Identifier: Apache-2.0
// Drops a process's privileges before it reads untrusted files. Context: background, of a process
// with one thread.
#pragma once

#include <chrono>
#include <cstdint>

namespace lagwatch::collector {

enum class FileAccess : uint8_t {
  kNone,
  kReadOnly,  // may open files to read them
};

// From here on this process and no child of its opens files (but as `access` says), makes processes, asks the
// network, gains privileges, writes files, leaves a core or takes more than 2 GiB of memory; it may have
// `max_files` open. False when the system does not let it. Under sanitizers, which need more, only some of it
// holds.
bool EnterSandbox(unsigned max_files, FileAccess access = FileAccess::kNone);

// The process is ended unless this is called again within `time`; zero: never.
void SetTimeLimit(std::chrono::seconds time);

}  // namespace lagwatch::collector
