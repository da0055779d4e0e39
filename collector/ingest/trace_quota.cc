// SPDX-License-Identifier: Apache-2.0
#include "collector/ingest/trace_quota.h"

#include <algorithm>

#include "collector/store/records.h"

namespace lagwatch::collector {

TraceQuota::Used* TraceQuota::Today(std::string_view project, int64_t now_wall_ms) {
  const int64_t day = now_wall_ms / kMsPerDay;
  if (day != day_) used_.clear();
  day_ = day;
  return &used_.try_emplace(std::string(project)).first->second;
}

bool TraceQuota::TryTake(std::string_view project, size_t size_bytes, int64_t now_wall_ms) {
  std::lock_guard lock(mutex_);
  Used* used = Today(project, now_wall_ms);
  const auto bytes = static_cast<int64_t>(size_bytes);
  if (used->traces >= limits_.traces_a_day || used->bytes + bytes > limits_.bytes_a_day) return false;
  ++used->traces;
  used->bytes += bytes;
  return true;
}

void TraceQuota::GiveBack(std::string_view project, size_t size_bytes, int64_t now_wall_ms) {
  std::lock_guard lock(mutex_);
  Used* used = Today(project, now_wall_ms);
  used->traces = std::max<int64_t>(used->traces - 1, 0);
  used->bytes = std::max<int64_t>(used->bytes - static_cast<int64_t>(size_bytes), 0);
}

}  // namespace lagwatch::collector
