// SPDX-License-Identifier: Apache-2.0
// Clusters and what they cost as the JSON that people's programs read: part of the API, so keys keep their
// meaning. Context: background; pure.
#pragma once

#include <vector>

#include "collector/query/json_text.h"
#include "collector/store/records.h"

namespace lagwatch::collector {

// `all_hang_ns` is the estimated time of all causes.
Json ClusterJson(const CauseRow& cause, double all_hang_ns);
Json DaysJson(const std::vector<CausePeriod>& days);

}  // namespace lagwatch::collector
