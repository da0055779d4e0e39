// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "base/status.h"

namespace lagwatch::tools {

// Ok when reports could be kept in `spool_directory` now: it is one that the library accepts and
// writes to, or it could be created. Leaves nothing behind. Errors: kInvalid or kIo, saying why
// not. Context: background.
base::Status CheckCanKeepReports(const std::string& spool_directory);

}  // namespace lagwatch::tools
