// SPDX-License-Identifier: Apache-2.0
// Makes a database's tables, or brings those of an older lagwatch to today's form. Context: background.
#pragma once

#include "base/status.h"
#include "collector/store/sqlite/database/database.h"

namespace lagwatch::collector {

// All or nothing. Error: kInvalid when a newer lagwatch wrote it. Throws SqliteError.
base::Status Migrate(Database* database);

}  // namespace lagwatch::collector
