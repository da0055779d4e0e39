// SPDX-License-Identifier: Apache-2.0
// The databases that cases begin with, made once and copied.
#pragma once

#include <cstdint>
#include <set>
#include <string>

#include "tests/collector_faults/kill_traffic.h"
#include "tests/testing/temp_directory.h"

namespace lagwatch::faults {

class KillTemplates {
 public:
  static constexpr int64_t kRetentionDays = 7;

  // Throws std::runtime_error.
  KillTemplates();

  // Of this version, and of the oldest that has all columns.
  std::string current() const { return directory_ / "current.db"; }
  std::string older() const { return directory_ / "older.db"; }
  // Both have these reports: those of a day that retention removes, and those that it keeps.
  const Expected& expired() const { return expired_; }
  const Expected& kept() const { return kept_; }
  int64_t expired_day() const { return expired_day_; }
  // The time that a collector takes to migrate the older one.
  int64_t migration_us() const { return migration_us_; }

 private:
  testing::ScopedTempDirectory directory_;
  int64_t expired_day_;
  Expected expired_;
  Expected kept_;
  int64_t migration_us_ = 0;
};

}  // namespace lagwatch::faults
