// SPDX-License-Identifier: Apache-2.0
// Records of usage in the database, and the sums of programs' watched time, which are updated as records
// arrive. All throw SqliteError. Context: background.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string_view>
#include <vector>

#include "collector/store/records.h"
#include "collector/store/sqlite/database/database.h"
#include "collector/store/version_sums.h"
#include "report/format/report.h"

namespace lagwatch::collector {

// `sender` is the key that brought it (schema.h). Returns whether it is new.
bool InsertUsage(Database* database, const NewUsage& added, int64_t sender);
void AddToUsageSums(Database* database, const report::Usage& usage);
// Removes usage records by their rows, with their contributions to the sums.
void RemoveUsage(Database* database, std::span<const int64_t> rows);
// Of the filter, app, version and days count.
double ReadWatchedNs(Database* database, const ReportFilter& filter);
// Calls `visit` for each record that ended since the filter's first day. Its app, version and user count,
// too.
void ReadEachUsage(Database* database, const ReportFilter& filter,
                   const std::function<void(std::string_view payload)>& visit);
std::vector<WatchedVersion> ReadWatchedVersions(Database* database, const ReportFilter& filter);

}  // namespace lagwatch::collector
