// SPDX-License-Identifier: Apache-2.0
// Compares a collector's database with what was sent, and its sums with its reports.
#pragma once

#include <cstdint>
#include <set>
#include <string>

#include "tests/collector_faults/kill_traffic.h"

namespace lagwatch::faults {

struct StoreCheck {
  std::set<Id> must_have;  // reports
  std::set<Id> may_have;   // all that were ever sent, besides
  // Reports of this day and of those before it may be there in part, or gone; the check removes them.
  int64_t last_expired_day = 0;
  // Also ends, losses and usage; of a copy, these are not known.
  const Expected* all = nullptr;
};

// Returns the first difference, or nothing. No other process has the database open.
std::string CheckStore(const std::string& database, const StoreCheck& check);

}  // namespace lagwatch::faults
