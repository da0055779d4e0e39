// SPDX-License-Identifier: Apache-2.0
// Sums up reports by cluster: the few causes that matter, worst first. Context: background. Not thread-safe.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "base/uuid.h"
#include "collector/cluster/clusterer.h"
#include "collector/store/store.h"

namespace lagwatch::collector {

// How long a lag was: measured, or when its end is not known, how old it was when it was last reported.
int64_t LagDurationNs(const ReportRow& report);

struct ClusterSummary {
  Cluster cluster;
  int64_t reports = 0;
  std::vector<int64_t> lag_durations_ns;  // sorted; a lag with several reports counts once
  std::set<std::string> users;            // those that clients named
  std::set<std::string> apps;
  std::set<std::string> versions;
  int64_t first_seen_ms = 0;
  int64_t last_seen_ms = 0;
  std::vector<ClusterSummary> children;  // level 2 of a level-1 cluster

  // What is known of all users' lags, by what was received: a sampled report stands for others, too, and so
  // do reports that were lost, as far as their cause is known.
  double estimated_lags = 0;
  double estimated_hang_ns = 0;

  double hang_ns() const;
  // The nearest-rank percentile, 0 < percent <= 100.
  int64_t DurationPercentileNs(int percent) const;
};

class ClusterSummaries {
 public:
  void Add(const ReportRow& report);

  // The clusters of `level` by the time they cost, the worst first. `clusters` has all keys that were added.
  // `losses` are of the reports that were added.
  std::vector<ClusterSummary> Take(int level, const std::map<std::string, Cluster>& clusters,
                                   const std::vector<LossRow>& losses) &&;

 private:
  struct Lag {
    int64_t duration_ns = 0;
    double weight = 1;
  };
  struct Sum {
    ClusterSummary summary;
    std::map<std::array<uint8_t, 16>, Lag> lags;
    std::map<int64_t, int64_t> reports_by_cause;
  };

  void AddTo(Sum* sum, const ReportRow& report);
  void Estimate(const std::map<int64_t, double>& lost_by_cause, Sum* sum) const;

  std::map<std::string, Sum> sums_;  // by cluster key
  std::map<int64_t, int64_t> reports_by_cause_;
};

}  // namespace lagwatch::collector
