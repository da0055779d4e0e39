// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "base/status.h"

namespace lagwatch::tools {

// Returns all records of a spool directory, also of programs still running, as one encoded Batch with frames
// named from this machine's files; and the losses that are counted there and not sent yet. Errors: kNotFound
// if the directory does not exist, kIo. Context: background.
base::Result<std::string> LoadSpoolRecords(const std::string& spool_directory);

}  // namespace lagwatch::tools
