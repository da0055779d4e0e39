// SPDX-License-Identifier: Apache-2.0
// The number of reports that each program of a rule may have on one day (UTC). A program is a file that a
// user runs: others can call theirs by the same name. Context: background.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <compare>
#include <cstdint>
#include <map>
#include <memory>

namespace lagwatch::tools {

// The use of a program's quota. All its watchers, which are processes, count in the same memory.
class ReportCount {
 public:
  // Counts reports that were made at this time (since 1970).
  void Add(uint64_t reports, int64_t wall_ms);
  bool IsUsedUp(int64_t wall_ms) const;

 private:
  friend class ReportQuota;
  struct Use {
    std::atomic<uint32_t> day{0};
    std::atomic<uint32_t> reports{0};
  };
  // Throws std::bad_alloc.
  explicit ReportCount(uint32_t reports_per_day);
  bool IsOfDay(uint32_t day) const { return use_->day.load() == day; }

  uint32_t reports_per_day_;
  std::shared_ptr<Use> use_;
};

class ReportQuota {
 public:
  struct Program {
    uid_t user = 0;  // that has started it
    dev_t device = 0;
    ino_t file = 0;

    auto operator<=>(const Program&) const = default;
  };

  explicit ReportQuota(uint32_t reports_per_day) : reports_per_day_(reports_per_day) {}

  // To be called before its watcher is forked. A user with very many files has one count for the last of
  // them.
  std::shared_ptr<ReportCount> CountOf(Program program, int64_t wall_ms);

 private:
  uint32_t reports_per_day_;
  std::map<Program, std::shared_ptr<ReportCount>> counts_;
};

}  // namespace lagwatch::tools
