// SPDX-License-Identifier: Apache-2.0
#include "collector/query/usage_values.h"

#include <algorithm>
#include <functional>
#include <vector>

namespace lagwatch::collector {
namespace {

constexpr std::string_view kOtherValues = "(others)";  // as programs call values that they have no room for

// The entry of `name`, that of the others once there are `most`: names come from clients.
template <typename Map>
auto& Entry(Map& map, std::string_view name, size_t most) {
  const auto found = map.find(name);
  if (found != map.end()) return found->second;
  return map[std::string(map.size() < most ? name : kOtherValues)];
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
  Json json = Json::array();
  for (const auto& [app, keys] : sums_) {
    for (const auto& [key, values] : keys) {
      std::vector<UseOfKey::const_pointer> sorted;
      for (const auto& value : values) sorted.push_back(&value);
      std::ranges::stable_sort(sorted, std::greater(),
                               [](const auto* each) { return each->second.watched_ns; });
      sorted.resize(std::min({sorted.size(), limit, kMaxEntries - json.size()}));
      for (const auto* each : sorted) json.push_back(EntryJson(app, key, each->first, each->second));
    }
  }
  return json;
}

Json UsageValues::EntryJson(const std::string& app, const std::string& key, const std::string& value,
                            const UseOfValue& sum) {
  return {{"app", app},
          {"key", key},
          {"value", value},
          {"users", sum.rates.users()},
          {"watched_ms", ToMs(sum.watched_ns)},
          {"hangs", sum.hangs},
          {"hang_ms", ToMs(sum.hang_ns)},
          {"hang_ms_per_hour", sum.rates.ToJson()}};
}

}  // namespace lagwatch::collector
