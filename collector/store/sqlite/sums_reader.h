// SPDX-License-Identifier: Apache-2.0
// Reads the sums that are kept for each cluster (docs/design/store.md). All throw SqliteError. Context:
// background. Not thread-safe.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "collector/store/read_rows.h"
#include "collector/store/records.h"
#include "collector/store/sqlite/database/database.h"

// The columns that ReadSums takes.
#define LAGWATCH_SUMS                                                                                 \
  "reports, lags, hang_ns, weighted_lags, weighted_hang_ns, longest_ns, first_seen_ms, last_seen_ms," \
  " sketches, lost_reports"
#define LAGWATCH_CLUSTER \
  "clusters.key, clusters.level, coalesce(parents.key, ''), clusters.frames, clusters.via, clusters.held_by"
#define LAGWATCH_CLUSTERS "clusters LEFT JOIN clusters AS parents ON parents.id = clusters.parent"

namespace lagwatch::collector {

// Of LAGWATCH_CLUSTER.
Cluster ReadClusterAt(const Statement& row);

// The sums, of those kept for each cluster, that add up to a filter's: the sum of all, those of some
// segments, or those of some days.
struct SumsScope {
  std::string segments = "[0]";
  int64_t first_day = 0;
  int64_t last_day = 0;

  // Nothing if the sums that are kept are not enough.
  static std::optional<SumsScope> Of(Database* database, const ReportFilter& filter);

  bool is_all() const { return segments == "[0]" && last_day == 0; }
  bool is_of_days() const { return segments == "[0]" && last_day != 0; }
};

// Clusters are their ids in the database; 0 is all of them.
class SumsReader {
 public:
  SumsReader(Database* database, SumsScope scope);

  // Of `wanted` clusters; null: of all.
  std::vector<int64_t> Costliest(int level, int64_t limit, int64_t offset,
                                 const std::unordered_set<int64_t>* wanted = nullptr);
  // The sums of its reports in the scope.
  CauseRow Read(int64_t cluster) { return ReadIn(scope_, cluster); }
  // The same with the cluster's name, programs and verdicts.
  CauseRow Describe(int64_t cluster);
  // Of more children than these, those that cost least in all are not looked at.
  std::vector<CauseRow> Children(int64_t parent, int64_t limit);
  // The ratio of lost to received reports of a cluster.
  double LostPerReport(int64_t cluster);

 private:
  struct SegmentSum {
    int64_t segment;
    double hang_ns;
    double estimated_hang_ns;
  };
  struct Page {
    int64_t limit;
    int64_t offset;
    const std::unordered_set<int64_t>* wanted;  // null: all

    bool Wants(int64_t cluster) const { return wanted == nullptr || wanted->contains(cluster); }
    // Of clusters in order.
    std::vector<int64_t> Of(Statement* rows) const;
    std::vector<int64_t> Of(const std::set<std::pair<double, int64_t>>& by_cost) const;
  };
  struct SegmentNames {
    std::string app, version, verdict;
  };

  CauseRow ReadIn(const SumsScope& scope, int64_t cluster);
  void AddCapped(const SumsScope& scope, int64_t cluster, CauseSums* sums);
  std::vector<int64_t> CostliestInAll(int level, const Page& page);
  std::vector<int64_t> CostliestByWalk(int level, const Page& page);
  std::vector<int64_t> CostliestBySum(int level, const Page& page);
  std::vector<int64_t> CostliestOfFew(const Page& page);
  std::optional<double> CostOf(int64_t cluster);
  std::vector<SegmentSum> SegmentsOfCluster(int64_t cluster);
  bool IsWhole(int64_t cluster, const std::vector<SegmentSum>& segments);
  int64_t ReportsIn(const SumsScope& scope);
  void AddSegments(const std::vector<SegmentSum>& sums, CauseRow* cause);
  const SegmentNames& NamesOf(int64_t segment);

  Database* database_;
  SumsScope scope_;
  std::unordered_set<int64_t> segments_;                  // the scope's
  bool has_capped_ = false;                               // whether any report counts for less than it says
  std::unordered_map<int64_t, SegmentNames> names_ = {};  // of segments that were asked for
};

}  // namespace lagwatch::collector
