// SPDX-License-Identifier: Apache-2.0
// Removes records beyond their retention, and repairs the sums afterwards. Context: background.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

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
  // Keeps today and the `days` before it; 0: all. Borrows `store`. `wall_ms` returns the time.
  RetentionJob(Store* store, int64_t days, std::function<int64_t()> wall_ms, RetentionOptions options = {});

  std::string name() const override { return "retention"; }
  // An error, once in an hour, while the clock is in doubt.
  base::Result<bool> Step() override;

  // Thread-safe.
  RetentionState state() const { return guard_.state(); }

 private:
  Store* store_;
  int64_t days_;
  RetentionGuard guard_;
  HoldNotice notice_;
};

// The same of traces alone, which take more room and are asked for sooner.
class TraceRetentionJob final : public MaintenanceJob {
 public:
  // As RetentionJob.
  TraceRetentionJob(Store* store, int64_t days, std::function<int64_t()> wall_ms,
                    RetentionOptions options = {});

  std::string name() const override { return "retention of traces"; }
  base::Result<bool> Step() override;

 private:
  Store* store_;
  int64_t days_;
  RetentionGuard guard_;
  HoldNotice notice_;
};

// Removes programs' versions and clusters that no report has any more.
class UnusedNamesJob final : public MaintenanceJob {
 public:
  // Borrows `store`.
  explicit UnusedNamesJob(Store* store) : store_(store) {}

  std::string name() const override { return "removal of unused names"; }
  base::Result<bool> Step() override;

 private:
  Store* store_;
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
