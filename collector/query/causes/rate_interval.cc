// SPDX-License-Identifier: Apache-2.0
#include "collector/query/causes/rate_interval.h"

#include <algorithm>
#include <cmath>

namespace lagwatch::collector {
namespace {

constexpr double kQuantile = 1.96;      // of the normal distribution, for 95 %
constexpr double kMostHangsUnseen = 3;  // -ln(0.05): more would have been seen in 95 of 100 cases
constexpr double kNsPerHour = 3.6e12;

}  // namespace

RateInterval IntervalOf(double rate, const CauseSums& sums) {
  const double total_s = sums.hang_ns / 1e9;
  if (sums.hangs <= 0 || total_s <= 0) return {rate, rate};
  const auto hangs = static_cast<double>(sums.hangs);
  const auto users = static_cast<double>(std::max<int64_t>(sums.users.Count(), 1));
  const double variance = std::max(1.0, hangs / users) * sums.durations.SumOfSquares();
  const double deviation = std::sqrt(variance) / total_s;
  return {rate * std::exp(-kQuantile * deviation), rate * std::exp(kQuantile * deviation)};
}

double MostNsWithoutHang(const CauseSums& sums, double watched_ns) {
  if (sums.hangs <= 0 || watched_ns <= 0) return 0;
  const double of_a_hang_ns = sums.weighted_hang_ns / static_cast<double>(sums.hangs);
  return kMostHangsUnseen * of_a_hang_ns / (watched_ns / kNsPerHour);
}

}  // namespace lagwatch::collector
