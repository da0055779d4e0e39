// SPDX-License-Identifier: Apache-2.0
#include "collector/query/watched_time.h"

#include <string>

#include "base/clock.h"
#include "collector/cluster/cause_sums.h"

namespace lagwatch::collector {
namespace {

constexpr int64_t kKeptNs = 30'000'000'000;
constexpr size_t kMaxKnown = 1000;

ReportFilter PartOf(const ReportFilter& filter) {
  return {.app = filter.app,
          .version = filter.version,
          .user = filter.user,
          .first_day = filter.first_day,
          .last_day = filter.last_day};
}

std::string NameOf(const ReportFilter& filter) {
  auto day = [](const std::optional<int64_t>& number) { return number ? std::to_string(*number) : ""; };
  std::string name;
  for (const std::string& part :
       {filter.app, filter.version, filter.user, day(filter.first_day), day(filter.last_day)}) {
    name += std::to_string(part.size()) + ":" + part;
  }
  return name;
}

bool IsIn(const ReportFilter& filter, const report::Usage& usage) {
  const auto day = static_cast<int64_t>(usage.end_wall_ms / kMsPerDay);
  return (!filter.first_day || day >= *filter.first_day) && (!filter.last_day || day <= *filter.last_day);
}

}  // namespace

base::Result<double> WatchedTime::Of(const ReportFilter& filter) {
  const ReportFilter part = PartOf(filter);
  const std::string name = NameOf(part);
  const int64_t now_ns = base::SystemClock().MonoNs();
  {
    std::lock_guard lock(mutex_);
    const auto known = known_.find(name);
    if (known != known_.end() && now_ns - known->second.mono_ns < kKeptNs) return known->second.watched_ns;
  }
  auto watched_ns = SumUp(part);
  if (!watched_ns.ok()) return watched_ns;
  std::lock_guard lock(mutex_);
  if (known_.size() >= kMaxKnown) known_.clear();
  known_[name] = {*watched_ns, now_ns};
  return watched_ns;
}

base::Result<double> WatchedTime::SumUp(const ReportFilter& filter) const {
  double watched_ns = 0;
  base::Status visited = store_->ForEachUsage(filter, [&](std::string_view payload) {
    const auto usage = report::DecodeUsage(payload);
    if (!usage.ok() || !IsIn(filter, *usage)) return;
    for (const auto& loop : usage->loops)
      watched_ns += static_cast<double>(loop.usage.watched_ns) * WeightOf(usage->sample_rate_ppm);
  });
  if (!visited.ok()) return visited;
  return watched_ns;
}

}  // namespace lagwatch::collector
