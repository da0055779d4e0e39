// SPDX-License-Identifier: Apache-2.0
#include "tools/watch/report_quota.h"

#include <algorithm>
#include <new>

#include "base/process/shared_memory.h"
#include "policies/upload/user_sampling.h"

namespace lagwatch::tools {
namespace {

uint32_t DayOf(int64_t wall_ms) { return static_cast<uint32_t>(policies::DayOf(wall_ms)); }

}  // namespace

ReportCount::ReportCount(uint32_t reports_per_day)
    : reports_per_day_(reports_per_day), use_(base::MakeForkShared<Use>()) {
  if (use_ == nullptr) throw std::bad_alloc();
}

// Of two watchers that are the first of the day, one begins it; what the other counts in between may be lost.
void ReportCount::Add(uint64_t reports, int64_t wall_ms) {
  const uint32_t day = DayOf(wall_ms);
  if (use_->day.exchange(day) != day) use_->reports.store(0);
  use_->reports.fetch_add(static_cast<uint32_t>(reports));
}

bool ReportCount::IsUsedUp(int64_t wall_ms) const {
  const uint32_t used = IsOfDay(DayOf(wall_ms)) ? use_->reports.load() : 0;
  return used >= reports_per_day_;
}

std::shared_ptr<ReportCount> ReportQuota::CountOf(Program program, int64_t wall_ms) {
  constexpr auto kMostFilesOfUser = 32;
  if (const auto found = counts_.find(program); found != counts_.end()) return found->second;
  // Those of earlier days that no watcher uses any more.
  std::erase_if(counts_, [&](const auto& one) {
    return one.second.use_count() == 1 && !one.second->IsOfDay(DayOf(wall_ms));
  });
  const auto files_of_user =
      std::ranges::count_if(counts_, [&](const auto& one) { return one.first.user == program.user; });
  if (files_of_user >= kMostFilesOfUser) program = {.user = program.user};
  std::shared_ptr<ReportCount>& count = counts_[program];
  if (count == nullptr) count.reset(new ReportCount(reports_per_day_));
  return count;
}

}  // namespace lagwatch::tools
