// SPDX-License-Identifier: Apache-2.0
// Holds the database and its log below a size: removes the oldest days when it comes near, and says when
// nothing more may be stored. docs/operations.md has the rules. Context: background.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "base/clock.h"
#include "base/status.h"
#include "collector/maintenance/maintenance.h"
#include "collector/store/sqlite/sqlite_store.h"

namespace lagwatch::collector {

// The thresholds on the way to a size of `most_bytes`.
struct StoreMarks {
  uint64_t most_bytes = 0;
  uint64_t remove_bytes = 0;  // of records: from there on the oldest day is removed
  uint64_t refuse_bytes = 0;  // of records and the log: from there on nothing more is stored

  // The rest is for records that are being stored at that moment, and for the log.
  static StoreMarks Of(uint64_t most_bytes);
};

struct StoreQuotaOptions {
  std::function<int64_t()> wall_ms = [] { return base::SystemClock().WallMs(); };
  std::function<int64_t()> mono_ns = [] { return base::SystemClock().MonoNs(); };
  // A day (since 1970 UTC) was removed, with so many reports.
  std::function<void(int64_t day, int64_t reports)> on_removed = {};
};

class StoreQuota final : public MaintenanceJob {
 public:
  // Borrows `store`.
  StoreQuota(SqliteStore* store, uint64_t most_bytes, StoreQuotaOptions options = {});

  std::string name() const override { return "store quota"; }
  // Removes some of the oldest day's records while there are too many. Never touches today's, nor those of
  // the day of the newest record: an error, once in an hour, when these alone are too many.
  base::Result<bool> Step() override;

  // Errors: kUnavailable when nothing more may be stored for now. Thread-safe.
  base::Status Check() const;
  // Whether a step would make room now. Thread-safe.
  bool IsDue() const { return !is_held_ && (IsOver() || !Check().ok()); }
  // Thread-safe.
  const StoreMarks& marks() const { return marks_; }
  StoreSize size() const { return store_->Size(); }

 private:
  enum class Phase { kTraces, kReports, kRepair };

  bool IsOver() const { return store_->Size().used_bytes >= marks_.remove_bytes; }
  base::Result<bool> StepOnce();
  base::Result<bool> BeginDay();
  base::Result<bool> RemoveSome();
  base::Result<bool> Repair();
  base::Result<bool> CutLog();
  // Nothing may be removed. An error once in an hour while reports are refused, otherwise false.
  base::Result<bool> Hold();

  SqliteStore* const store_;
  const StoreMarks marks_;
  const StoreQuotaOptions options_;
  std::optional<int64_t> day_;  // that is being removed
  Phase phase_ = Phase::kTraces;
  int64_t removed_reports_ = 0;  // of that day
  std::atomic<bool> is_held_{false};
  std::optional<int64_t> said_mono_ns_;
};

}  // namespace lagwatch::collector
