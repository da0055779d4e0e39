// SPDX-License-Identifier: Apache-2.0
// Counts the reports stored per program and day (UTC), for programs that have a limit. Counted in memory, as
// the quotas of keys are: a restart resets it. Context: background. Thread-safe.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <string_view>

namespace lagwatch::collector {

class AppQuota {
 public:
  struct Use {
    int64_t reports_a_day = 0;  // the limit
    int64_t today = 0;          // that were stored
    int64_t refused_today = 0;
    int64_t refused = 0;  // since the start
  };

  // Reports in a day by program.
  using Limits = std::map<std::string, int64_t, std::less<>>;

  explicit AppQuota(const Limits& limits);

  // Whether the program has a limit.
  bool Has(std::string_view app) const { return uses_.contains(app); }
  // Whether there is room for one more report, which then has it. A program without a limit always has room.
  bool TryTake(std::string_view app, int64_t now_wall_ms);
  // The report was not stored after all.
  void GiveBack(std::string_view app, int64_t now_wall_ms);
  // Of all programs that have a limit.
  std::map<std::string, Use, std::less<>> Uses(int64_t now_wall_ms) const;

 private:
  void BeginDay(int64_t now_wall_ms) const;

  mutable std::mutex mutex_;
  mutable int64_t day_ = 0;  // guarded by mutex_
  // No program comes or goes; the counts are guarded by mutex_.
  mutable std::map<std::string, Use, std::less<>> uses_;
};

}  // namespace lagwatch::collector
