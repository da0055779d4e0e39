// SPDX-License-Identifier: Apache-2.0
#include "collector/query/usage_values.h"

#include <algorithm>
#include <tuple>
#include <vector>

namespace lagwatch::collector {
namespace {

constexpr std::string_view kOthers = "(others)";  // as programs call values that they have no room for

// The entry of `name`, that of the others once there are `most`: names come from clients.
template <typename Map>
auto& Entry(Map& map, std::string_view name, size_t most) {
  const auto found = map.find(name);
  if (found != map.end()) return found->second;
  return map[std::string(map.size() < most ? name : kOthers)];
}

}  // namespace

void UsageValues::Add(const report::Usage& usage, std::string_view key) {
  for (const report::ValueUsage& value : usage.values) {
    if (!key.empty() && value.key != key) continue;
    UseOfValue& sum = Entry(Entry(sums_[usage.app], value.key, kMaxKeys), value.value, kMaxValues);
    sum.rates.Add(usage, value.usage.watched_ns, value.usage.hang_ns);
    sum.watched_ns += static_cast<double>(value.usage.watched_ns);
    sum.hang_ns += static_cast<double>(value.usage.hang_ns);
    sum.hangs = value.usage.hangs > UINT64_MAX - sum.hangs ? UINT64_MAX : sum.hangs + value.usage.hangs;
  }
}

Json UsageValues::ToJson(size_t limit) const {
  std::vector<std::tuple<std::string_view, std::string_view, UseOfKey::const_pointer>> sorted;
  for (const auto& [app, keys] : sums_)
    for (const auto& [key, values] : keys)
      for (const auto& value : values) sorted.emplace_back(app, key, &value);
  std::ranges::stable_sort(sorted, [](const auto& a, const auto& b) {
    const auto& [app_a, key_a, value_a] = a;
    const auto& [app_b, key_b, value_b] = b;
    return std::tie(app_a, key_a, value_b->second.watched_ns) <
           std::tie(app_b, key_b, value_a->second.watched_ns);
  });
  Json json = Json::array();
  for (const auto& [app, key, entry] : sorted) {
    if (json.size() == limit) break;
    const auto& [value, sum] = *entry;
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
