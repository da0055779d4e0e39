// SPDX-License-Identifier: Apache-2.0
// The number of reports that the programs of one rule may have on one day (UTC). Context: background.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

namespace lagwatch::tools {

// All watchers of the rule's programs, which are processes, count in the same memory.
class ReportQuota {
 public:
  explicit ReportQuota(uint32_t reports_per_day);

  // Counts reports that were made at this time (since 1970).
  void Add(uint64_t reports, int64_t wall_ms);
  bool IsUsedUp(int64_t wall_ms) const;

 private:
  struct Use {
    std::atomic<uint32_t> day{0};
    std::atomic<uint32_t> reports{0};
  };

  uint32_t reports_per_day_;
  std::shared_ptr<Use> use_;
};

}  // namespace lagwatch::tools
