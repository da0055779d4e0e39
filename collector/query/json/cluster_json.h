// SPDX-License-Identifier: Apache-2.0
// Clusters and their costs as JSON for people's programs: part of the API, so keys keep their meaning.
// Context: background; pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "collector/query/json/annotated_causes.h"
#include "collector/query/json/json_text.h"
#include "collector/store/records.h"

namespace lagwatch::collector {

// The totals that a cluster's cost is a part of.
struct CostOfAll {
  double hang_ns = 0;     // the estimated time of all causes
  double watched_ns = 0;  // 0: not known
};

// Names of programs and versions that an answer has room for: those beyond it are counted only.
class NameRoom {
 public:
  static constexpr size_t kMostBytes = 1 << 20;

  // As many of `names` as there is room for; adds the number of the others to `more`.
  Json Take(const std::vector<std::string>& names, int64_t* more);

 private:
  size_t left_bytes_ = kMostBytes;
};

// Texts of more than kMostTextBytes are cut.
inline constexpr size_t kMostTextBytes = 1000;
Json ClusterJson(const ShownCause& cause, const CostOfAll& all, NameRoom* room);
// Milliseconds in an hour of watched time; null without watched time.
Json PerHourJson(double hang_ns, double watched_ns);
Json PeriodsJson(const std::vector<CausePeriod>& periods);

}  // namespace lagwatch::collector
