// SPDX-License-Identifier: Apache-2.0
#include "collector/store/version_sums.h"

#include "collector/store/report_summer.h"

namespace lagwatch::collector {

void VersionSums::Add(const ReportRow& report) {
  if (IsCounted(report.kind)) ContributionOf(report).AddTo(&sums_[{report.app, report.version}], 1);
}

std::vector<CauseVersion> VersionSums::Take(double lost_per_report) && {
  std::vector<CauseVersion> versions;
  for (auto& [key, sums] : sums_) {
    const double estimated_hang_ns = EstimatedHangNs(lost_per_report, sums);
    versions.push_back({key.first, key.second, std::move(sums), estimated_hang_ns});
  }
  return versions;
}

}  // namespace lagwatch::collector
