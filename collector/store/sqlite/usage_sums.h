// SPDX-License-Identifier: Apache-2.0
// Sums of programs' watched time, updated as records of it arrive. Throws SqliteError. Context: background.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "collector/store/sqlite/database/database.h"
#include "collector/store/version_sums.h"
#include "report/format/report.h"

namespace lagwatch::collector {

void AddToUsageSums(Database* database, const report::Usage& usage);
// Removes usage records by their rows, with their contributions to the sums.
void RemoveUsage(Database* database, std::span<const int64_t> rows);
// Of the filter, app, version and days count.
double ReadWatchedNs(Database* database, const ReportFilter& filter);
std::vector<WatchedVersion> ReadWatchedVersions(Database* database, const ReportFilter& filter);

}  // namespace lagwatch::collector
