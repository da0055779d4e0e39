// SPDX-License-Identifier: Apache-2.0
#include "collector/query/hang_rate.h"

#include <algorithm>
#include <vector>

#include "collector/cluster/cause_sums.h"

namespace lagwatch::collector {
namespace {

constexpr double kNsPerMs = 1'000'000;

struct RateOfUser {
  double ms_per_hour;
  double weight;
};

// By nearest rank; 0 of none.
double WeightedPercentile(const std::vector<RateOfUser>& sorted, double percent) {
  double all = 0;
  for (const RateOfUser& rate : sorted) all += rate.weight;
  double seen = 0;
  for (const RateOfUser& rate : sorted) {
    seen += rate.weight;
    if (seen * 100 >= all * percent) return rate.ms_per_hour;
  }
  return sorted.empty() ? 0 : sorted.back().ms_per_hour;
}

}  // namespace

double HangMsPerHour(double hang_ns, double watched_ns) {
  constexpr double kMsInAnHour = 3'600'000;
  return watched_ns > 0 ? hang_ns / watched_ns * kMsInAnHour : 0;
}

void HangRates::Add(const report::Usage& usage) {
  for (const report::LoopUsage& loop : usage.loops) Add(usage, loop.usage.watched_ns, loop.usage.hang_ns);
}

void HangRates::Add(const report::Usage& usage, int64_t watched_ns, int64_t hang_ns) {
  const double weight = WeightOf(usage.sample_rate_ppm);
  const auto watched = static_cast<double>(watched_ns);
  const auto hung = static_cast<double>(hang_ns);
  Times& user = users_[CountedUser(usage.user, usage.session_id)];
  user.watched_ns += watched;
  user.hang_ns += hung;
  user.weighted_watched_ns += weight * watched;
  weighted_watched_ns_ += weight * watched;
  weighted_hang_ns_ += weight * hung;
}

size_t HangRates::users() const {
  return static_cast<size_t>(
      std::ranges::count_if(users_, [](const auto& user) { return user.second.watched_ns > 0; }));
}

Json HangRates::ToJson() const {
  std::vector<RateOfUser> rates;
  for (const auto& [name, user] : users_) {
    if (user.watched_ns > 0)
      rates.push_back(
          {HangMsPerHour(user.hang_ns, user.watched_ns), user.weighted_watched_ns / user.watched_ns});
  }
  std::ranges::sort(rates, {}, &RateOfUser::ms_per_hour);
  const double all = HangMsPerHour(weighted_hang_ns_, weighted_watched_ns_);
  return {{"all", ToMs(all * kNsPerMs)},
          {"p50", ToMs(WeightedPercentile(rates, 50) * kNsPerMs)},
          {"p90", ToMs(WeightedPercentile(rates, 90) * kNsPerMs)}};
}

}  // namespace lagwatch::collector
