// SPDX-License-Identifier: Apache-2.0
// Rebuilds the sums of all reports from those of their clusters. Throws SqliteError. Context:
// background. Not thread-safe.
#pragma once

#include <cstdint>

#include "collector/store/sqlite/database/database.h"

namespace lagwatch::collector {

// One sum of cluster 0 (schema.h): of all (segment and day 0), of a segment or of a day.
void RepairTotal(Database* database, int64_t segment, int64_t day);

}  // namespace lagwatch::collector
