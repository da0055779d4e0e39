// SPDX-License-Identifier: Apache-2.0
#include "policies/upload/retention.h"

#include <algorithm>
#include <tuple>

namespace lagwatch::policies {

std::vector<Removal> PickRemovals(std::span<const StoredFile> files, const RetentionLimits& limits,
                                  int64_t now_wall_ms) {
  std::vector<Removal> removals;
  std::vector<size_t> kept;
  uint64_t kept_bytes = 0;
  for (size_t i = 0; i < files.size(); ++i) {
    if (now_wall_ms - files[i].written_wall_ms > limits.longest_ms) {
      removals.push_back({i, RemovalReason::kTooOld});
    } else {
      kept.push_back(i);
      kept_bytes += files[i].size_bytes;
    }
  }
  auto least_first = [&](size_t a, size_t b) {
    return std::tuple(files[a].priority, files[a].written_wall_ms, a) <
           std::tuple(files[b].priority, files[b].written_wall_ms, b);
  };
  if (kept_bytes <= limits.total_bytes) return removals;
  std::ranges::sort(kept, least_first);
  for (size_t index : kept) {
    if (kept_bytes <= limits.total_bytes - limits.total_bytes / 8) break;
    removals.push_back({index, RemovalReason::kTooMuch});
    kept_bytes -= files[index].size_bytes;
  }
  return removals;
}

}  // namespace lagwatch::policies
