// SPDX-License-Identifier: Apache-2.0
#include "collector/query/usage_values.h"

#include <algorithm>
#include <vector>

namespace lagwatch::collector {

void UsageValues::Add(const report::Usage& usage, std::string_view key) {
  for (const report::ValueUsage& value : usage.values) {
    if (!key.empty() && value.key != key) continue;
    UseOfValue& sum = sums_[{usage.app, value.key, value.value}];
    sum.rates.Add(usage, value.usage.watched_ns, value.usage.hang_ns);
    sum.watched_ns += static_cast<double>(value.usage.watched_ns);
    sum.hang_ns += static_cast<double>(value.usage.hang_ns);
    sum.hangs = value.usage.hangs > UINT64_MAX - sum.hangs ? UINT64_MAX : sum.hangs + value.usage.hangs;
  }
}

Json UsageValues::ToJson(size_t limit) const {
  std::vector<const decltype(sums_)::value_type*> sorted;
  for (const auto& entry : sums_) sorted.push_back(&entry);
  std::ranges::stable_sort(sorted, [](const auto* a, const auto* b) {
    const auto& [app_a, key_a, value_a] = a->first;
    const auto& [app_b, key_b, value_b] = b->first;
    return std::tie(app_a, key_a, b->second.watched_ns) < std::tie(app_b, key_b, a->second.watched_ns);
  });
  Json json = Json::array();
  for (const auto* entry : sorted) {
    if (json.size() == limit) break;
    const auto& [app, key, value] = entry->first;
    const UseOfValue& sum = entry->second;
    json.push_back({{"app", app},
                    {"key", key},
                    {"value", value},
                    {"users", sum.rates.users()},
                    {"watched_ms", ToMs(sum.watched_ns)},
                    {"hangs", sum.hangs},
                    {"hang_ms", ToMs(sum.hang_ns)},
                    {"hang_ms_per_hour", sum.rates.ToJson()}});
  }
  return json;
}

}  // namespace lagwatch::collector
