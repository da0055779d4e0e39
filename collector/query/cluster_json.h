// SPDX-License-Identifier: Apache-2.0
// Clusters and what they cost as the JSON that people's programs read: part of the API, so keys keep their
// meaning. Context: background; pure.
#pragma once

#include <vector>

#include "collector/query/cause_book.h"
#include "collector/query/json_text.h"
#include "collector/store/records.h"

namespace lagwatch::collector {

// What a cluster's cost is a part of.
struct CostOfAll {
  double hang_ns = 0;     // the estimated time of all causes
  double watched_ns = 0;  // 0: not known
};

Json ClusterJson(const ShownCause& cause, const CostOfAll& all);
// Milliseconds in an hour of watched time; null of what was watched for no time.
Json PerHourJson(double hang_ns, double watched_ns);
Json PeriodsJson(const std::vector<CausePeriod>& periods);

}  // namespace lagwatch::collector
