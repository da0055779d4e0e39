// SPDX-License-Identifier: Apache-2.0
// Reads reports in their present state: once each, in their clusters, with their part of the hang. The
// tables' rows are joined here, hang by hang, and divided by the same code as everywhere
// (policies/hang_account.h). All throw ClickHouseError. Thread-safe. Context: background.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "collector/store/clickhouse/server/connection.h"
#include "collector/store/clickhouse/server/row_source.h"
#include "collector/store/clickhouse/server/schema.h"
#include "collector/store/clickhouse/server/sums_unit.h"
#include "collector/store/records.h"

namespace lagwatch::collector {

class HangReader {
 public:
  using Visit = std::function<void(const ReportRow&)>;

  // Borrows `schema`.
  HangReader(RowSource source, const Schema* schema) : source_(std::move(source)), schema_(schema) {}

  // All that match, in the order of their hangs' ids.
  void ForEach(const ReportFilter& filter, const Visit& visit);
  // All that are summed up in these hours (sums_unit.h).
  void ForEachOf(std::span<const HourRange> hours, const Visit& visit);
  // The newest id first, of those before the id `before`.
  std::vector<ReportRow> Newest(const ReportFilter& filter, int64_t limit,
                                const std::optional<base::Uuid>& before);
  // See StoredReports::ReportsOfRun.
  std::vector<ReportRow> OfRun(const base::Uuid& session_id, int64_t first_wall_ms, int64_t last_wall_ms,
                               int64_t limit);
  // Those that are there, in the order of ids.
  std::vector<ReportRow> WithIds(std::span<const base::Uuid> ids);
  std::vector<StoredReport> StoredWithIds(std::span<const base::Uuid> ids);
  // The same as WithIds, but in the clusters of their own stacks, and without their parts of hangs.
  std::vector<ReportRow> InOwnClusters(std::span<const base::Uuid> ids);

 private:
  void SelectHangs(const std::string& condition, const ExternalTable* external, const Visit& visit);
  std::pair<int64_t, int64_t> Days();
  std::vector<base::Uuid> HangsOf(std::span<const base::Uuid> ids);
  // Fills in what reports do not say themselves, of whole hangs.
  void Join(std::vector<ReportRow>* reports);
  void Place(const ExternalTable& ids, const std::string& days, std::vector<ReportRow>* reports);
  void Account(const ExternalTable& ids, const std::string& days, std::vector<ReportRow>* reports);

  const RowSource source_;
  const Schema* schema_;
};

}  // namespace lagwatch::collector
