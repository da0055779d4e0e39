// SPDX-License-Identifier: Apache-2.0
// The process that reads symbol files for the collector: `lagwatch-collector --symbol-worker`, started by
// collector/symbols/worker/worker_process.h. Context: a process of its own.
#pragma once

namespace lagwatch::collector {

// The socket that a worker is started with.
inline constexpr int kWorkerSocket = 3;
// The command line's only argument.
inline constexpr char kWorkerArgument[] = "--symbol-worker";

// Answers requests on `socket`, in a sandbox, until the other side closes it. Modules stay open for a while,
// because their first lookup costs most. The program's exit code.
int RunSymbolWorker(int socket);

}  // namespace lagwatch::collector
