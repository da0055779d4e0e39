// SPDX-License-Identifier: Apache-2.0
// Reads the sums of clusters' reports. All throw SqliteError. Context: background.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "collector/store/records.h"
#include "collector/store/sqlite/database/database.h"
#include "collector/store/version_sums.h"

namespace lagwatch::collector {

// From the sums that are kept, where the filter is one of segments or one of days; else from
// the reports themselves.
CausePage ReadCauses(Database* database, const CauseQuery& query);
std::optional<CauseRow> ReadCause(Database* database, const std::string& key, const ReportFilter& filter);
std::vector<CauseVersion> ReadCauseVersions(Database* database, const std::string& key,
                                            const ReportFilter& filter);
std::vector<CausePeriod> ReadCauseDays(Database* database, const std::string& key);
DaysOfCauses ReadCostByDay(Database* database, std::span<const std::string> keys, int64_t first_day,
                           int64_t last_day);
std::optional<Cluster> ReadCluster(Database* database, const std::string& key);

}  // namespace lagwatch::collector
