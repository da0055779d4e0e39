// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "base/status.h"

namespace lagwatch::tools {

// All that is in a spool directory, also of programs still running, as one encoded Batch with frames named
// from this machine's files; and the losses that are counted there and still to be told. Errors: kNotFound
// when there is no such directory, kIo. Context: background.
base::Result<std::string> LoadSpoolRecords(const std::string& spool_directory);

}  // namespace lagwatch::tools
