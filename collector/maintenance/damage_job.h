// SPDX-License-Identifier: Apache-2.0
// Looks for damage in the database once a day, from the start on, and sets a damaged one aside, whatever came
// across the damage. Context: background.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "collector/maintenance/maintenance.h"
#include "collector/store/sqlite/sqlite_store.h"

namespace lagwatch::collector {

class DamageJob final : public MaintenanceJob {
 public:
  struct Options {
    std::string data;                        // the directory that has the database
    std::function<uint64_t()> commits = {};  // so far: while they come, the check takes less time
    std::function<void(const std::string& folder, const base::Status& damage)> on_set_aside = {};
  };

  // Borrows `store`.
  DamageJob(SqliteStore* store, Options options) : store_(store), options_(std::move(options)) {}

  std::string name() const override { return "check of the database"; }
  base::Result<bool> Step() override;

 private:
  base::Status SetAside(const base::Status& damage);

  SqliteStore* const store_;
  const Options options_;
  std::string folder_ = {};  // of the damage that is being set aside; empty: of none
  CheckProgress progress_;
  uint64_t commits_ = 0;
  int64_t next_mono_ns_ = 0;  // the check that is next; while one is under way, its beginning
};

}  // namespace lagwatch::collector
