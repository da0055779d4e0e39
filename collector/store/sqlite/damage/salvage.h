// SPDX-License-Identifier: Apache-2.0
// Copies what can be read of a damaged database into a good one. Context: background.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/status.h"
#include "collector/cluster/clusterer.h"
#include "collector/store/records.h"

namespace lagwatch::collector {

struct SalvagedKind {
  std::string name;  // of the records, for people
  int64_t kept = 0;  // copied, or there already
  int64_t lost = 0;  // known by their key, and unreadable
  int64_t gaps = 0;  // places of which it is not known what they had
};

struct Salvaged {
  std::vector<SalvagedKind> kinds;        // reports first
  std::optional<int64_t> reports_before;  // that the database had by its sums; nothing: unreadable
};

// Bounds the names and the weight of a report whose row, which has them as they were bounded, cannot be read
// (ingest/unread_limits.h).
using BoundUnread = std::function<void(NewRecord* report)>;

// Reads the database at `damaged`, which no other program may have open, into the one at `path`, which is
// created if it does not exist. Records that are there already stay as they are: so it can be done again
// after it was interrupted. Errors: kInvalid when another version of the collector wrote it; kIo,
// kUnavailable when `path` cannot be written.
base::Result<Salvaged> Salvage(const std::string& damaged, const std::string& path,
                               const Clusterer& clusterer, const BoundUnread& bound_unread);

}  // namespace lagwatch::collector
