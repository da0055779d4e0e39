// SPDX-License-Identifier: Apache-2.0
// How long programs' loops were watched, on all users' machines: what hang time is measured against. Records
// of use are many and all are gone over, so an answer is kept for half a minute. Context: background.
// Thread-safe.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>

#include "base/status.h"
#include "collector/store/store.h"

namespace lagwatch::collector {

class WatchedTime {
 public:
  // Borrows `store`.
  explicit WatchedTime(Store* store) : store_(store) {}

  // In ns, estimated for all users where some were sampled; 0 when nothing is known. Of the filter, app,
  // version, user and days count.
  base::Result<double> Of(const ReportFilter& filter);

 private:
  struct Known {
    double watched_ns = 0;
    int64_t mono_ns = 0;  // when it was found
  };

  base::Result<double> SumUp(const ReportFilter& filter) const;

  Store* store_;
  std::mutex mutex_;
  std::map<std::string, Known> known_;  // guarded by mutex_; by the filter's part that counts
};

}  // namespace lagwatch::collector
