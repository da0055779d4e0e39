// SPDX-License-Identifier: Apache-2.0
#include "collector/store/cause_names.h"

#include <algorithm>

#include "policies/cluster/version_order.h"

namespace lagwatch::collector {
namespace {

using Entry = const NameCosts::value_type*;

CauseNames Costliest(const NameCosts& costs, Entry always) {
  std::vector<Entry> entries;
  for (const auto& entry : costs) entries.push_back(&entry);
  if (entries.size() > kMostNamesOfACause) {
    const auto order = [always](Entry entry) { return std::pair(entry != always, -entry->second); };
    std::ranges::nth_element(entries, entries.begin() + kMostNamesOfACause, {}, order);
    entries.resize(kMostNamesOfACause);
  }
  CauseNames names;
  for (Entry entry : entries) names.names.push_back(entry->first);
  std::ranges::sort(names.names);
  names.more = static_cast<int64_t>(costs.size() - entries.size());
  return names;
}

}  // namespace

CauseNames CostliestNames(const NameCosts& costs) { return Costliest(costs, nullptr); }

CauseNames CostliestVersions(const NameCosts& costs) {
  Entry newest = nullptr;
  for (const auto& entry : costs) {
    if (newest == nullptr || policies::IsOlderVersion(newest->first, entry.first)) newest = &entry;
  }
  return Costliest(costs, newest);
}

}  // namespace lagwatch::collector
