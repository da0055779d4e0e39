// SPDX-License-Identifier: Apache-2.0
// The stderr of a program beside which this process runs: it may be a terminal, a file, or a pipe whose
// reader is slow. Context: background.
#pragma once

#include <string>

#include "base/status.h"

namespace lagwatch::tools {

// Waits for a few seconds while a reader is slow. Errors: kIo if stderr is broken for good, such as a pipe
// without a reader; kUnavailable otherwise: a part of the text may be written.
base::Status WriteToStandardError(const std::string& text);

// Whether it is a pipe or a socket: its reader meets the end only when all processes have closed it.
bool IsStandardErrorPipe();

// Later writes are lost.
void CloseStandardError();

}  // namespace lagwatch::tools
