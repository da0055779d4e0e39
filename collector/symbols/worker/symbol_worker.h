// SPDX-License-Identifier: Apache-2.0
// The process that reads symbol files: `lagwatch-collector --symbol-worker`, or `lagwatch`, started by
// collector/symbols/worker/worker_process.h. Context: a process of its own.
#pragma once

#include "collector/symbols/worker/sandbox.h"

namespace lagwatch::collector {

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
