// SPDX-License-Identifier: Apache-2.0
// Selects unsent reports to remove from disk: those that are too old, and if there are too many, the least
// important, oldest first. Context: background; pure, but allocates.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "policies/upload/report_priority.h"

namespace lagwatch::policies {

struct StoredFile {
  int64_t written_wall_ms;
  uint64_t size_bytes;
  ReportPriority priority;  // of its most important record
};

struct RetentionLimits {
  int64_t longest_ms = 7 * 24 * 3600 * int64_t{1'000};
  uint64_t total_bytes = 64 << 20;
};

enum class RemovalReason : uint8_t { kTooOld, kTooMuch };

struct Removal {
  size_t index;  // into the files
  RemovalReason reason;

  bool operator==(const Removal&) const = default;
};

// In the order in which they are best removed; of too much, an eighth more than has to go, so that it is not
// too much again at once. A file from the future, by a clock that was set back, is as
// new as can be.
std::vector<Removal> PickRemovals(std::span<const StoredFile> files, const RetentionLimits& limits,
                                  int64_t now_wall_ms);

}  // namespace lagwatch::policies
