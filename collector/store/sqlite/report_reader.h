// SPDX-License-Identifier: Apache-2.0
// Reads reports. All throw SqliteError. Context: background.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "collector/store/records.h"
#include "collector/store/sqlite/database/database.h"
#include "collector/store/version_sums.h"

namespace lagwatch::collector {

// The ids of segments that match, as a JSON array; nothing when all do. A cluster, a user and days are
// not a segment's.
std::optional<std::string> SegmentsOf(Database* database, const ReportFilter& filter);

std::vector<ReportRow> ReadReports(Database* database, const ReportFilter& filter, int64_t limit,
                                   const std::optional<base::Uuid>& before);
void ReadEachReport(Database* database, const ReportFilter& filter,
                    const std::function<void(const ReportRow&)>& visit);
std::optional<StoredReport> ReadReport(Database* database, const base::Uuid& id);

// Up to `limit` ids from `first` to `last`, both included.
std::vector<base::Uuid> ReadIds(Database* database, const base::Uuid& first, const base::Uuid& last,
                                int64_t limit);
// See StoredReports::ReportsOfRun. Of the run's time: nothing else leads to its reports.
std::vector<ReportRow> ReadReportsOfRun(Database* database, const base::Uuid& session_id,
                                        int64_t first_wall_ms, int64_t last_wall_ms, int64_t limit);
// The day of the newest report, record of usage, loss or trace.
std::optional<int64_t> ReadNewestDay(Database* database);

// In the order of ids.
std::vector<StoredReport> ReadReportsWithIds(Database* database, std::span<const base::Uuid> ids);

std::vector<StoredReport> ReadReportsAfter(Database* database, const base::Uuid& after, int64_t limit);

// Those of the most reports first.
std::vector<UnnamedBuild> ReadUnnamedBuilds(Database* database, int64_t limit);
std::vector<StoredReport> ReadReportsWithUnnamed(Database* database, const std::string& build_id,
                                                 int64_t limit);

// Reads causes: the sums of clusters' reports.

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
