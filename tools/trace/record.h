// SPDX-License-Identifier: Apache-2.0
// `lagwatch trace record`.
#pragma once

#include "tools/trace/data/recording.h"

namespace lagwatch::tools {

// Runs the program, records it until it ends, and writes the trace. Returns the program's exit code, or 2
// when it could not be recorded, having said why.
int RecordProgram(const RecordOptions& options);

// Records a running process, for the requested time, until it ends or this program is interrupted. Returns
// the exit code, after an error message.
int RecordProcess(const RecordOptions& options);

}  // namespace lagwatch::tools
