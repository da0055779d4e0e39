// SPDX-License-Identifier: Apache-2.0
// Bounds on what clients may claim to have lost, so that no single record decides which cause costs most.
// Context: background; pure.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string_view>

#include "collector/cluster/cause_sums.h"
#include "report/format/losses.h"

namespace lagwatch::collector {

// More hangs than that do not happen between two records of one process: a day has 86,400 seconds.
inline constexpr int64_t kMostLostAtOnce = 100'000;
// Lost reports that one received report of the same cause may stand for in estimates.
inline constexpr double kMostLostPerReport = 1000;

// Number of lost reports that an entry of a Losses record counts for.
inline double CountedLosses(int64_t count) {
  return static_cast<double>(std::clamp<int64_t>(count, 0, kMostLostAtOnce));
}

// The same for all users, where the losses are a sample's. A client that is not sampled reports so
// for itself only.
inline double WeightedLosses(std::string_view reason, int64_t count, int64_t sample_rate_ppm) {
  const bool is_of_all = reason == report::LossReasonName(report::LossReason::kNotSampled);
  return CountedLosses(count) * (is_of_all ? 1 : WeightOf(sample_rate_ppm));
}

}  // namespace lagwatch::collector
