// SPDX-License-Identifier: Apache-2.0
// Copies of a database that may be in use. Context: background.
#pragma once

#include <string>

#include "base/status.h"

namespace lagwatch::collector {

// Writes the content of `from` at one moment to a new file `to`, without blocking writers. Errors: kIo.
base::Status SnapshotDatabase(const std::string& from, const std::string& to);

// Errors: kIo, kInvalid when the file is damaged or none of this program's.
base::Status CheckDatabase(const std::string& path);

}  // namespace lagwatch::collector
