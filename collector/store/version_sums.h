// SPDX-License-Identifier: Apache-2.0
// A cause and its programs, version by version. Context: background. Not thread-safe.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "collector/store/records.h"

namespace lagwatch::collector {

// The sums of a cause in one version of a program.
struct CauseVersion {
  std::string app;
  std::string version;
  CauseSums sums;
  double estimated_hang_ns = 0;  // as in CauseRow
};

// The watched time of a version's loops, on all users' machines.
struct WatchedVersion {
  std::string app;
  std::string version;
  double watched_ns = 0;
  // Since 1970 UTC: when it was.
  int64_t first_day = 0;
  int64_t last_day = 0;
};

class VersionSums {
 public:
  void Add(const std::string& app, const std::string& version, const CauseSums& sums) {
    sums_[{app, version}].Add(sums);
  }
  // Ignores reports that do not count in clusters.
  void Add(const ReportRow& report);

  // By app and version. So many reports of the cause were lost for each that came.
  std::vector<CauseVersion> Take(double lost_per_report) &&;

 private:
  std::map<std::pair<std::string, std::string>, CauseSums> sums_;
};

}  // namespace lagwatch::collector
