// SPDX-License-Identifier: Apache-2.0
#include "collector/cluster/cause_sums.h"

#include <algorithm>

namespace lagwatch::collector {
namespace {

// A hostile client's hang; sums of more would lose what the others were.
constexpr int64_t kLongestHangNs = int64_t{30} * 24 * 3600 * 1'000'000'000;

int64_t Plausible(int64_t hang_ns) { return std::clamp<int64_t>(hang_ns, 0, kLongestHangNs); }

}  // namespace

void CauseSums::Add(const CauseSums& other) {
  if (other.reports > 0) {
    first_seen_ms = reports > 0 ? std::min(first_seen_ms, other.first_seen_ms) : other.first_seen_ms;
    last_seen_ms = std::max(last_seen_ms, other.last_seen_ms);
  }
  reports += other.reports;
  hangs += other.hangs;
  hang_ns += other.hang_ns;
  weighted_hangs += other.weighted_hangs;
  weighted_hang_ns += other.weighted_hang_ns;
  longest_ns = std::max(longest_ns, other.longest_ns);
  capped_reports += other.capped_reports;
  capped_ns += other.capped_ns;
  durations.Add(other.durations);
  users.Add(other.users);
}

void Contribution::AddTo(CauseSums* sums, int sign) const {
  if (sign > 0) {
    sums->first_seen_ms = sums->reports > 0 ? std::min(sums->first_seen_ms, seen_ms) : seen_ms;
    sums->last_seen_ms = std::max(sums->last_seen_ms, seen_ms);
    if (!user.empty()) sums->users.Add(user);
    if (hangs > 0) sums->longest_ns = std::max(sums->longest_ns, Plausible(duration_ns));
  }
  sums->reports += sign;
  sums->hangs += sign * hangs;
  if (hangs > 0) sums->durations.Add(Plausible(duration_ns), sign * hangs);
  const auto hang = static_cast<double>(Plausible(hang_ns));
  sums->hang_ns += sign * hang;
  sums->weighted_hangs += sign * weight * static_cast<double>(hangs);
  sums->weighted_hang_ns += sign * weight * hang;
  if (capped_ns > 0) sums->capped_reports += sign;
  sums->capped_ns += sign * capped_ns;
}

std::string CountedUser(const std::string& user, const base::Uuid& session_id) {
  return user.empty() ? '\0' + std::string(session_id.as_bytes()) : user;
}

double WeightOf(int64_t sample_rate_ppm) {
  constexpr double kAllPpm = 1'000'000;
  return sample_rate_ppm <= 0 ? 1
                              : std::clamp(kAllPpm / static_cast<double>(sample_rate_ppm), 1.0, kMostWeight);
}

std::string EncodeSketches(const CauseSums& sums) {
  std::string bytes;
  sums.durations.AppendTo(&bytes);
  sums.users.AppendTo(&bytes);
  return bytes;
}

void DecodeSketches(std::string_view bytes, CauseSums* sums) {
  if (sums->durations.TakeFrom(&bytes) && sums->users.TakeFrom(&bytes)) return;
  sums->durations = {};
  sums->users = {};
}

}  // namespace lagwatch::collector
