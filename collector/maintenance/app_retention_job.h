// SPDX-License-Identifier: Apache-2.0
// Retention where some programs have one of their own. Each of them, and all others together, has a guard of
// its own, so that none of them loses more than a day's worth to a wrong clock. Context: background.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "collector/maintenance/maintenance.h"
#include "collector/maintenance/retention_guard.h"
#include "collector/maintenance/retention_job.h"
#include "collector/store/removal.h"
#include "collector/store/retention.h"
#include "collector/store/store.h"

namespace lagwatch::collector {

class AppRetentionJob final : public MaintenanceJob {
 public:
  // In place of RetentionJob. Borrows `store`, which must be able to Remove(). `options.state_path` is the
  // file of all other programs; each program with its own retention has one beside it.
  AppRetentionJob(StoreMaintenance* store, Retention retention, std::function<int64_t()> wall_ms,
                  const RetentionOptions& options = {});

  std::string name() const override { return "retention"; }
  // An error, once in an hour for each program, while the clock is in doubt.
  base::Result<bool> Step() override;

  // The state of a program whose retention is held, or else of all other programs. Thread-safe.
  RetentionState state() const;

 private:
  struct AppsPart {
    Removal removal;
    RetentionGuard guard;
    HoldNotice notice = {};
    RemovalProgress progress = {};
    bool is_under_way = false;
    std::optional<int64_t> done_day = std::nullopt;  // all before is gone; nothing before the first pass
  };

  base::Result<bool> StepOf(AppsPart* part);
  // Removes records of no program, once all programs' records of that time are gone.
  base::Result<bool> RemoveRest();

  StoreMaintenance* const store_;
  const bool has_end_;                            // of all records
  std::vector<std::unique_ptr<AppsPart>> parts_;  // all other programs first, if their retention has an end
  size_t current_ = 0;
  std::optional<int64_t> rest_day_;  // records of no program are gone before it
};

}  // namespace lagwatch::collector
