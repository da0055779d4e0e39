// SPDX-License-Identifier: Apache-2.0
#include "collector/maintenance/retention_job.h"

#include <utility>

namespace lagwatch::collector {
namespace {

// A step holds up those who bring reports.
constexpr int64_t kRemovedInAStep = 500;
constexpr int64_t kTracesOfAStep = 20;
constexpr int64_t kClustersOfAStep = 10;

}  // namespace

RetentionJob::RetentionJob(Store* store, int64_t days, std::function<int64_t()> wall_ms)
    : store_(store), days_(days), wall_ms_(std::move(wall_ms)) {}

base::Result<bool> RetentionJob::Step() {
  if (days_ == 0) return false;
  const auto removed = store_->RemoveBefore(wall_ms_() / kMsPerDay - days_, kRemovedInAStep);
  if (!removed.ok()) return removed.status();
  return *removed >= kRemovedInAStep;
}

TraceRetentionJob::TraceRetentionJob(Store* store, int64_t days, std::function<int64_t()> wall_ms)
    : store_(store), days_(days), wall_ms_(std::move(wall_ms)) {}

base::Result<bool> TraceRetentionJob::Step() {
  if (days_ == 0) return false;
  return store_->RemoveTracesBefore(wall_ms_() / kMsPerDay - days_, kTracesOfAStep);
}

base::Result<bool> RepairJob::Step() {
  const auto repaired = store_->RepairSums(kClustersOfAStep);
  if (!repaired.ok()) return repaired.status();
  return *repaired > 0;
}

}  // namespace lagwatch::collector
