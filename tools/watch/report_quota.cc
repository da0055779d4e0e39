// SPDX-License-Identifier: Apache-2.0
#include "tools/watch/report_quota.h"

#include <new>

#include "base/process/shared_memory.h"
#include "policies/upload/user_sampling.h"

namespace lagwatch::tools {
namespace {

uint32_t DayOf(int64_t wall_ms) { return static_cast<uint32_t>(policies::DayOf(wall_ms)); }

}  // namespace

ReportQuota::ReportQuota(uint32_t reports_per_day)
    : reports_per_day_(reports_per_day), use_(base::MakeForkShared<Use>()) {
  if (use_ == nullptr) throw std::bad_alloc();
}

// Of two watchers that are the first of the day, one begins it; what the other counts in between may be lost.
void ReportQuota::Add(uint64_t reports, int64_t wall_ms) {
  const uint32_t day = DayOf(wall_ms);
  if (use_->day.exchange(day) != day) use_->reports.store(0);
  use_->reports.fetch_add(static_cast<uint32_t>(reports));
}

bool ReportQuota::IsUsedUp(int64_t wall_ms) const {
  const uint32_t used = use_->day.load() == DayOf(wall_ms) ? use_->reports.load() : 0;
  return used >= reports_per_day_;
}

}  // namespace lagwatch::tools
