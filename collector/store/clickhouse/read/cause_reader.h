// SPDX-License-Identifier: Apache-2.0
// Reads what the reports of clusters come to: from their sums, or else from the reports themselves. All throw
// ClickHouseError. Thread-safe. Context: background.
#pragma once

#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "collector/store/clickhouse/read/hang_reader.h"
#include "collector/store/clickhouse/read/summed_causes.h"
#include "collector/store/clickhouse/server/connection.h"
#include "collector/store/clickhouse/server/schema.h"
#include "collector/store/records.h"
#include "collector/store/version_sums.h"

namespace lagwatch::collector {

class CauseReader {
 public:
  // Borrows all.
  CauseReader(Connection* connection, const Schema* schema, HangReader* hangs, KnownUnits* units)
      : connection_(connection), schema_(schema), hangs_(hangs), units_(units) {}

  CausePage Causes(const CauseQuery& query);
  std::optional<CauseRow> FindCause(const std::string& key, const ReportFilter& filter);
  std::vector<CauseVersion> Versions(const std::string& key, const ReportFilter& filter);
  std::vector<CausePeriod> Days(const std::string& key);
  DaysOfCauses CostByDay(std::span<const std::string> keys, int64_t first_day, int64_t last_day);
  std::optional<Cluster> FindCluster(const std::string& key);
  // Only the filter's app and version count.
  std::vector<LossRow> Losses(const ReportFilter& filter);

 private:
  using LostPerReport = std::unordered_map<std::string, double>;  // by cluster; "": of all

  std::unique_ptr<SummedCauses> OpenSums(const ReportFilter& filter);
  LostPerReport ReadLostPerReport();
  SummedCauses::ReportCounts CountReports(const std::set<int64_t>& causes);
  std::set<std::string> FindKeys(const CauseQuery& query);
  std::unordered_map<std::string, Cluster> Clusters(const std::vector<std::string>& keys);
  void Name(CausePage* page);

  Connection* connection_;
  const Schema* schema_;
  HangReader* hangs_;
  KnownUnits* units_;
};

}  // namespace lagwatch::collector
