// SPDX-License-Identifier: Apache-2.0
#include "collector/ingest/trace_quota.h"

#include <algorithm>

#include "collector/store/records.h"

namespace lagwatch::collector {

namespace {

constexpr int64_t kNetworksPartOfTraces = 16;  // of the quota: one in so many

}  // namespace

TraceQuota::UsedOfProject* TraceQuota::Today(const Sender& sender, int64_t now_wall_ms) {
  const int64_t day = now_wall_ms / kMsPerDay;
  if (day != day_) used_.clear();
  day_ = day;
  return &used_[sender.key];
}

bool TraceQuota::TryTake(const Sender& sender, size_t size_bytes, int64_t now_wall_ms) {
  std::lock_guard lock(mutex_);
  UsedOfProject* used = Today(sender, now_wall_ms);
  const auto bytes = static_cast<int64_t>(size_bytes);
  const auto fits = [&](const Used& of, int64_t part) {
    return of.traces + 1 <= limits_.traces_a_day / part && of.bytes + bytes <= limits_.bytes_a_day / part;
  };
  if (!fits(used->all, 1)) return false;
  if (!sender.network.empty() && !fits(used->all, 2)) {
    const auto own = used->networks.find(sender.network);
    // At least one, whatever its size.
    if (own != used->networks.end() && !fits(own->second, kNetworksPartOfTraces)) return false;
    Used& charged = used->networks[sender.network];
    ++charged.traces;
    charged.bytes += bytes;
  }
  ++used->all.traces;
  used->all.bytes += bytes;
  return true;
}

void TraceQuota::GiveBack(const Sender& sender, size_t size_bytes, int64_t now_wall_ms) {
  std::lock_guard lock(mutex_);
  UsedOfProject* project = Today(sender, now_wall_ms);
  const auto give_back = [&](Used* used) {
    used->traces = std::max<int64_t>(used->traces - 1, 0);
    used->bytes = std::max<int64_t>(used->bytes - static_cast<int64_t>(size_bytes), 0);
  };
  give_back(&project->all);
  const auto own = project->networks.find(sender.network);
  if (own == project->networks.end()) return;
  give_back(&own->second);
  if (own->second.traces == 0) project->networks.erase(own);
}

}  // namespace lagwatch::collector
