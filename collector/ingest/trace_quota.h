// SPDX-License-Identifier: Apache-2.0
// Counts the traces per project and day (UTC). Counted in memory, as the quotas of keys are: a restart resets
// it. Context: background. Thread-safe.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <string_view>

#include "collector/ingest/trace_limits.h"

namespace lagwatch::collector {

class TraceQuota {
 public:
  explicit TraceQuota(const TraceLimits& limits) : limits_(limits) {}

  // Whether there is room for one more of that size, which then has it.
  bool TryTake(std::string_view project, size_t size_bytes, int64_t now_wall_ms);
  // It was not stored after all.
  void GiveBack(std::string_view project, size_t size_bytes, int64_t now_wall_ms);

 private:
  struct Used {
    int64_t traces = 0;
    int64_t bytes = 0;
  };

  Used* Today(std::string_view project, int64_t now_wall_ms);

  const TraceLimits limits_;
  std::mutex mutex_;
  int64_t day_ = 0;                                // guarded by mutex_
  std::map<std::string, Used, std::less<>> used_;  // of that day, by project; guarded by mutex_
};

}  // namespace lagwatch::collector
