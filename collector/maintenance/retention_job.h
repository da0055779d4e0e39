// SPDX-License-Identifier: Apache-2.0
// Removes records beyond their retention, and repairs the sums afterwards. Context: background.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>

#include "collector/maintenance/maintenance.h"
#include "collector/maintenance/retention_guard.h"
#include "collector/store/store.h"

namespace lagwatch::collector {

// Says once in an hour that retention is held. Not thread-safe.
class HoldNotice {
 public:
  // An error when it is to be said now.
  base::Status Check(const RetentionState& state, int64_t mono_ns);

 private:
  std::optional<int64_t> said_mono_ns_;
};

class RetentionJob final : public MaintenanceJob {
 public:
  // Traces take more room than other records, and are asked for sooner.
  enum class Of { kAllRecords, kTracesOnly };

  // Keeps today and the `days` before it; 0: all. Borrows `store`. `wall_ms` returns the time.
  RetentionJob(StoreMaintenance* store, int64_t days, std::function<int64_t()> wall_ms,
               RetentionOptions options = {}, Of of = Of::kAllRecords)
      : store_(store), days_(days), of_(of), guard_(store, days, std::move(wall_ms), std::move(options)) {}

  std::string name() const override { return of_ == Of::kTracesOnly ? "retention of traces" : "retention"; }
  // An error, once in an hour, while the clock is in doubt.
  base::Result<bool> Step() override;
  // Thread-safe.
  RetentionState state() const { return guard_.state(); }

 private:
  // Removes some records of days before that one; whether there may be more.
  base::Result<bool> RemoveSome(int64_t day);

  StoreMaintenance* store_;
  int64_t days_;
  Of of_;
  RetentionGuard guard_;
  HoldNotice notice_;
};

// A job that is one function.
class StepJob final : public MaintenanceJob {
 public:
  StepJob(std::string name, std::function<base::Result<bool>()> step)
      : name_(std::move(name)), step_(std::move(step)) {}
  std::string name() const override { return name_; }
  base::Result<bool> Step() override { return step_(); }

 private:
  const std::string name_;
  const std::function<base::Result<bool>()> step_;
};

// All borrow `store`. Removes programs' versions and clusters that no report has any more.
StepJob CreateUnusedNamesJob(StoreMaintenance* store);
StepJob CreateRepairJob(StoreMaintenance* store);
StepJob CreateCompactJob(StoreMaintenance* store);

}  // namespace lagwatch::collector
