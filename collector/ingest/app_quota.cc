// SPDX-License-Identifier: Apache-2.0
#include "collector/ingest/app_quota.h"

#include <algorithm>

#include "collector/store/records.h"

namespace lagwatch::collector {

AppQuota::AppQuota(const Limits& limits) {
  for (const auto& [app, reports] : limits) uses_[app].reports_a_day = reports;
}

void AppQuota::BeginDay(int64_t now_wall_ms) const {
  const int64_t day = now_wall_ms / kMsPerDay;
  if (day == day_) return;
  day_ = day;
  for (auto& [app, use] : uses_) use.today = use.refused_today = 0;
}

bool AppQuota::TryTake(std::string_view app, int64_t now_wall_ms) {
  const auto found = uses_.find(app);
  if (found == uses_.end()) return true;
  std::lock_guard lock(mutex_);
  BeginDay(now_wall_ms);
  Use& use = found->second;
  if (use.today >= use.reports_a_day) {
    ++use.refused_today;
    ++use.refused;
    return false;
  }
  ++use.today;
  return true;
}

void AppQuota::GiveBack(std::string_view app, int64_t now_wall_ms) {
  const auto found = uses_.find(app);
  if (found == uses_.end()) return;
  std::lock_guard lock(mutex_);
  BeginDay(now_wall_ms);
  found->second.today = std::max<int64_t>(found->second.today - 1, 0);
}

std::map<std::string, AppQuota::Use, std::less<>> AppQuota::Uses(int64_t now_wall_ms) const {
  std::lock_guard lock(mutex_);
  BeginDay(now_wall_ms);
  return uses_;
}

}  // namespace lagwatch::collector
