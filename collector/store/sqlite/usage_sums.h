// SPDX-License-Identifier: Apache-2.0
// How long programs were watched, kept as records of it come. Throws SqliteError. Context: background.
#pragma once

#include "collector/store/sqlite/database.h"
#include "report/format/report.h"

namespace lagwatch::collector {

void AddToUsageSums(Database* database, const report::Usage& usage);

}  // namespace lagwatch::collector
