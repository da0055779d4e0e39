// SPDX-License-Identifier: Apache-2.0
// Slices of loops' frames in the database. All throw SqliteError. Context: background.
#pragma once

#include <cstdint>
#include <vector>

#include "collector/store/records.h"
#include "collector/store/sqlite/database/database.h"

namespace lagwatch::collector {

// `sender` is the key that brought it (schema.h). Returns whether it is new.
bool InsertFrames(Database* database, const report::FrameSlice& slice, int64_t sender);
// Up to `limit` summaries, those with the most dropped frames first. Of the filter, app and version count.
std::vector<FrameSummary> ReadFrames(Database* database, const ReportFilter& filter, int64_t limit);

}  // namespace lagwatch::collector
