// SPDX-License-Identifier: Apache-2.0
// Answers about causes from the table of sums, and from the reports of units that changed since they were
// summed up. All throw ClickHouseError. Not thread-safe: one question's. Context: background.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "collector/store/clickhouse/read/hang_reader.h"
#include "collector/store/clickhouse/read/sum_row.h"
#include "collector/store/clickhouse/read/sums_plan.h"
#include "collector/store/clickhouse/server/connection.h"
#include "collector/store/clickhouse/server/schema.h"
#include "collector/store/report_summer.h"
#include "collector/store/version_sums.h"

namespace lagwatch::collector {

class SummedCauses {
 public:
  // The ratio of lost to received reports of a cluster; the empty key is that of all.
  using LostPerReport = std::function<double(const std::string& key)>;

  // Null when the filter asks for what sums do not say, or when there are none. Borrows all but the filter.
  static std::unique_ptr<SummedCauses> Open(Connection* connection, const Schema* schema, HangReader* hangs,
                                            KnownUnits* units, const ReportFilter& filter);

  // Of `wanted` clusters (null: all). Of its clusters, only the keys are known.
  CausePage Causes(const CauseQuery& query, const std::set<std::string>* wanted, const LostPerReport& lost);
  // Of no reports when there are none.
  CauseRow Cause(const Cluster& cluster, const LostPerReport& lost);
  VersionSums Versions(const Cluster& cluster);
  std::map<int64_t, CauseSums> Days(const Cluster& cluster);
  DaysOfCauses CostByDay(std::span<const Cluster> clusters);

  // By cluster, "" being all: how many reports it has; and how many of each of these clients' causes.
  struct ReportCounts {
    std::unordered_map<std::string, int64_t> reports;
    std::map<std::pair<int64_t, std::string>, int64_t> of_causes;
  };
  ReportCounts CountReports(const std::set<int64_t>& causes);

 private:
  // A cluster, and what it costs.
  struct Cost {
    std::string key;
    std::set<std::string> parents;
    double estimated_hang_ns = 0;
  };
  using TotalsByCause = std::map<std::string, CauseTotals>;  // by cluster; "": all

  SummedCauses(Connection* connection, const Schema* schema, ReportFilter filter)
      : connection_(connection), schema_(schema), filter_(std::move(filter)) {}

  bool HasSegment() const;
  // With a column `day`, of units without spans.
  void Select(const std::string& columns, SumScope scope, const std::string& rest, const std::string& kinds,
              const std::function<void(const Row&)>& visit, const ExternalTable* external = nullptr) const;
  std::vector<Cost> Costs(int level, const std::vector<std::string>* parents,
                          const LostPerReport& lost) const;
  static void Sort(size_t count, std::vector<Cost>* costs);
  TotalsByCause Describe(const std::vector<std::string>& keys, int levels) const;
  void AddSums(const ExternalTable* keys, const std::string& where, TotalsByCause* sums) const;
  void AddAllOfSegments(const ExternalTable* keys, const std::string& where, TotalsByCause* sums) const;
  void AddSegments(const ExternalTable* keys, const std::string& where, TotalsByCause* sums) const;
  CauseRow ToRow(const std::string& key, const CauseTotals& sum, const LostPerReport& lost) const;

  Connection* connection_;
  const Schema* schema_;
  const ReportFilter filter_;
  std::string units_;         // whose sums are read, as a list; spans are among them
  std::string days_;          // the same without spans
  std::vector<SumRow> tail_;  // of reports that are read themselves, those that match
};

}  // namespace lagwatch::collector
