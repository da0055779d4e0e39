// SPDX-License-Identifier: Apache-2.0
// Counts the traces per project and day (UTC). Half of the quota is taken by whatever comes first; of the
// other half a network has a sixteenth of the whole. Counted in memory, as the quotas of keys are: a restart
// resets it. Context: background. Thread-safe.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <string>

#include "collector/ingest/sender.h"
#include "collector/ingest/trace_limits.h"

namespace lagwatch::collector {

class TraceQuota {
 public:
  explicit TraceQuota(const TraceLimits& limits) : limits_(limits) {}

  // Whether there is room for one more of that size, which then has it.
  bool TryTake(const Sender& sender, size_t size_bytes, int64_t now_wall_ms);
  // It was not stored after all.
  void GiveBack(const Sender& sender, size_t size_bytes, int64_t now_wall_ms);

 private:
  struct Used {
    int64_t traces = 0;
    int64_t bytes = 0;
  };
  struct UsedOfProject {
    Used all;
    std::map<std::string, Used> networks;  // of the second half
  };

  UsedOfProject* Today(const Sender& sender, int64_t now_wall_ms);

  const TraceLimits limits_;
  std::mutex mutex_;
  int64_t day_ = 0;                            // guarded by mutex_
  std::map<std::string, UsedOfProject> used_;  // of that day, by project; guarded by mutex_
};

}  // namespace lagwatch::collector
