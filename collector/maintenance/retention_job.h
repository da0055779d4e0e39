// SPDX-License-Identifier: Apache-2.0
// Removes what is older than it is to be kept, and puts the sums right that this leaves behind.
// Context: background.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "collector/maintenance/maintenance.h"
#include "collector/store/store.h"

namespace lagwatch::collector {

class RetentionJob final : public MaintenanceJob {
 public:
  // Keeps today and the `days` before it; 0: all. Borrows `store`. `wall_ms` tells the time.
  RetentionJob(Store* store, int64_t days, std::function<int64_t()> wall_ms);

  std::string name() const override { return "retention"; }
  base::Result<bool> Step() override;

 private:
  Store* store_;
  int64_t days_;
  std::function<int64_t()> wall_ms_;
};

// The same of traces alone, which take more room and are asked for sooner.
class TraceRetentionJob final : public MaintenanceJob {
 public:
  // As RetentionJob.
  TraceRetentionJob(Store* store, int64_t days, std::function<int64_t()> wall_ms);

  std::string name() const override { return "retention of traces"; }
  base::Result<bool> Step() override;

 private:
  Store* store_;
  int64_t days_;
  std::function<int64_t()> wall_ms_;
};

class RepairJob final : public MaintenanceJob {
 public:
  // Borrows `store`.
  explicit RepairJob(Store* store) : store_(store) {}

  std::string name() const override { return "repair of sums"; }
  base::Result<bool> Step() override;

 private:
  Store* store_;
};

class CompactJob final : public MaintenanceJob {
 public:
  // Borrows `store`.
  explicit CompactJob(Store* store) : store_(store) {}

  std::string name() const override { return "vacuum"; }
  base::Result<bool> Step() override { return store_->Compact(); }

 private:
  Store* store_;
};

}  // namespace lagwatch::collector
