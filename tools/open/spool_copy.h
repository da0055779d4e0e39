// SPDX-License-Identifier: Apache-2.0
// A copy of a spool, with links to the symbol files of the modules in its reports. Context: background.
#pragma once

#include <cstddef>
#include <string>

#include "base/status.h"

namespace lagwatch::tools {

struct SpoolCopy {
  std::string batch;  // all records, as LoadSpoolRecords() returns them
  size_t reports = 0;
};

// Copies the spool into `directory`/spool, and reads the copy: nothing of the spool is changed. Puts links to
// files with symbols that this machine has into `directory`/symbols, by build id. Errors: kNotFound, kIo.
base::Result<SpoolCopy> CopySpool(const std::string& spool, const std::string& directory);

}  // namespace lagwatch::tools
