// SPDX-License-Identifier: Apache-2.0
// The process that reads symbol files: `lagwatch-collector --symbol-worker`, or `lagwatch`, started by
// collector/symbols/worker/worker_process.h. Context: a process of its own.
#pragma once

#include <chrono>
#include <cstdint>

namespace lagwatch::collector {

// The worker's sandbox: of a process with one thread, before it reads untrusted files.
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

// The socket that a worker is started with.
inline constexpr int kWorkerSocket = 3;
// The command line's only argument: of a worker that opens no files; of one for files of this machine, which
// reads the .dwo files that they name, too.
inline constexpr char kWorkerArgument[] = "--symbol-worker";
inline constexpr char kLocalWorkerArgument[] = "--local-symbol-worker";

// Answers requests on `socket`, in a sandbox, until the other side closes it. Modules stay open for a while,
// because their first lookup costs most. The program's exit code.
int RunSymbolWorker(int socket, FileAccess access = FileAccess::kNone);

}  // namespace lagwatch::collector
