// SPDX-License-Identifier: Apache-2.0
#include "trace/record/dispatch_joiner.h"

#include <algorithm>
#include <string>

namespace lagwatch::trace {

void DispatchJoiner::Add(const RunRecord& record) {
  if (record.end_ns < record.begin_ns) return;  // damaged
  Entry entry{{record.dispatch, record.begin_ns, record.end_ns, std::string(record.tag)}, record.is_complete};
  const auto [place, is_new] = entries_[record.tid].try_emplace(record.dispatch, entry);
  if (!is_new && entry.has_ended) place->second = std::move(entry);
}

std::map<int32_t, std::vector<Dispatch>> DispatchJoiner::Take(int64_t end_ns) const {
  std::map<int32_t, std::vector<Dispatch>> all;
  for (const auto& [tid, entries] : entries_) {
    std::vector<Entry> sorted;
    for (const auto& [id, entry] : entries) sorted.push_back(entry);
    std::ranges::stable_sort(sorted, {}, [](const Entry& entry) { return entry.dispatch.begin_ns; });
    for (size_t i = 0; i < sorted.size(); ++i) {
      Dispatch& dispatch = sorted[i].dispatch;
      const int64_t next_ns = i + 1 < sorted.size() ? sorted[i + 1].dispatch.begin_ns : end_ns;
      if (!sorted[i].has_ended) dispatch.end_ns = std::max(next_ns, dispatch.begin_ns);
      all[tid].push_back(dispatch);
    }
  }
  return all;
}

}  // namespace lagwatch::trace
