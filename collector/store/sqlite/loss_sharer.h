// SPDX-License-Identifier: Apache-2.0
// Divides the reports of a client's cause that never arrived among the clusters of those that did. A lost
// report counts like a received one of its cause. Work per cause is bounded: the reports of one client's
// cause belong to few clusters unless a client invents them, so a cause in more than kMostClusters of them
// says nothing about where a lost report belongs; its losses count for all reports together, and for no
// cluster. Invariant: in the row of a whole cluster in cluster_sums, lost_reports is the sum over
// cause_reports. Context: background. Not thread-safe.
#pragma once

#include <cstdint>
#include <set>
#include <vector>

#include "collector/store/sqlite/database/database.h"

namespace lagwatch::collector {

class LossSharer {
 public:
  static constexpr int64_t kMostClusters = 200;  // of one client's cause, of both levels together

  // After the numbers of a cause's reports, or its losses, have changed. Within a transaction.
  void ShareOut(int64_t cause, Database* database);
  // To be called after the sums of a cluster were rebuilt. Within a transaction.
  static void SumUp(int64_t cluster, Database* database);
  // After a transaction that failed: forgets what it learned.
  void Forget() { wide_causes_.clear(); }

 private:
  // A row of cause_reports.
  struct Share {
    int64_t cluster = 0;  // 0: all
    int64_t reports = 0;
    double lost_reports = 0;
  };

  static double LostReports(int64_t cause, Database* database);
  static std::vector<Share> ReadShares(int64_t cause, int64_t limit, Database* database);
  static void Set(int64_t cause, const Share& share, double lost_reports, Database* database);
  void TakeBack(int64_t cause, Database* database);

  // In more than kMostClusters, and no cluster has a share of their losses. Emptied when there are many.
  std::set<int64_t> wide_causes_;
};

}  // namespace lagwatch::collector
