// SPDX-License-Identifier: Apache-2.0
// Ends of runs in the database. All throw SqliteError. Context: background.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/uuid.h"
#include "collector/store/records.h"
#include "collector/store/sqlite/database/database.h"

namespace lagwatch::collector {

// `sender` is the key that brought it (schema.h). Returns whether it is new.
bool InsertRunEnd(Database* database, const report::RunEnd& end, int64_t sender);

std::vector<RunEndRow> ReadRunEnds(Database* database, std::span<const base::Uuid> session_ids);
// Of the filter, app and version count.
std::vector<ExitCount> CountExits(Database* database, const ReportFilter& filter);

}  // namespace lagwatch::collector
