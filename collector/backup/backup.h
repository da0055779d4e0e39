// SPDX-License-Identifier: Apache-2.0
// All that a collector keeps, as a directory that can be put away and brought back. Context: background.
#pragma once

#include <string>

#include "base/status.h"

namespace lagwatch::collector {

struct BackupOptions {
  bool has_symbols = true;  // uploaded symbol files, too
};

// Makes the directory `to` of the data directory `from`, whether a collector serves it or not: the reports of
// one moment, keys, secrets, the config. Whole, or not there. Errors: kInvalid when `to` is there already or
// `from` is no data directory; kIo. Reports in ClickHouse are not its matter.
base::Status BackUp(const std::string& from, const std::string& to, const BackupOptions& options);

// Makes the data directory `to` of a backup, which is checked first. Errors: kInvalid if the backup is
// invalid or damaged, or if `to` is a data directory already; kIo.
base::Status Restore(const std::string& backup, const std::string& to);

}  // namespace lagwatch::collector
