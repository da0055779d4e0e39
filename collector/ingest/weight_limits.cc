// SPDX-License-Identifier: Apache-2.0
#include "collector/ingest/weight_limits.h"

#include <algorithm>

namespace lagwatch::collector {
namespace {

constexpr size_t kMostNames = 200'000;  // of users, and of networks; then others are not bounded

// Whether it is cut.
bool Cut(int64_t most, int64_t* value) {
  if (*value <= std::max<int64_t>(most, 0)) return false;
  *value = std::max<int64_t>(most, 0);
  return true;
}

}  // namespace

bool WeightLimits::BoundRate(uint32_t* rate_ppm) const {
  if (*rate_ppm == 0 || *rate_ppm >= bounds_.least_user_rate_ppm) return false;
  const auto configured = configured_rate_ppm_ ? configured_rate_ppm_() : std::nullopt;
  const uint64_t least = std::min(bounds_.least_user_rate_ppm, configured.value_or(UINT64_MAX));
  if (*rate_ppm >= least) return false;
  *rate_ppm = static_cast<uint32_t>(least);
  return true;
}

WeightLimits::Spent* WeightLimits::SpentBy(const std::string& name, SpentByName* all) {
  const auto known = all->find(name);
  if (known != all->end()) return &known->second;
  return all->size() < kMostNames ? &(*all)[name] : nullptr;
}

bool WeightLimits::BoundTime(const Sender& sender, int64_t* duration_ns) {
  bool is_bounded = Cut(bounds_.user_ns, duration_ns);
  if (sender.network.empty()) return is_bounded;
  Spent* network = SpentBy(sender.network, &by_network_);
  if (network == nullptr) return is_bounded;
  is_bounded |= Cut(bounds_.network_ns - network->counted_ns, duration_ns);
  network->counted_ns += *duration_ns;
  return is_bounded;
}

bool WeightLimits::BoundReport(const Sender& sender, ReportRow* row) {
  Spent* user = row->user.empty() ? nullptr : SpentBy(sender.key + '\n' + row->user, &by_user_);
  bool is_bounded = user != nullptr && Cut(bounds_.user_ns - user->counted_ns, &row->elapsed_ns);
  is_bounded |= BoundTime(sender, &row->elapsed_ns);
  if (user != nullptr) user->counted_ns += row->elapsed_ns;
  auto rate_ppm = static_cast<uint32_t>(std::clamp<int64_t>(row->sample_rate_ppm, 0, UINT32_MAX));
  is_bounded |= BoundRate(&rate_ppm);
  const bool stands_for_others = rate_ppm != 0 && rate_ppm < 1'000'000;
  if (stands_for_others) {
    Spent unknown;
    Spent* network = sender.network.empty() ? nullptr : SpentBy(sender.network, &by_network_);
    if (network == nullptr) network = &unknown;
    if (user == nullptr) user = &unknown;
    const int64_t own_ns = std::max<int64_t>(row->elapsed_ns, 1);
    const bool is_over = own_ns > bounds_.extrapolated_ns ||
                         user->extrapolated_ns + own_ns > bounds_.user_extrapolated_ns ||
                         network->extrapolated_ns + own_ns > bounds_.network_extrapolated_ns;
    if (is_over) {
      rate_ppm = 0;
      is_bounded = true;
    } else {
      user->extrapolated_ns += row->elapsed_ns;
      network->extrapolated_ns += row->elapsed_ns;
    }
  }
  row->sample_rate_ppm = rate_ppm;
  return is_bounded;
}

bool WeightLimits::Bound(const Sender& sender, int64_t now_wall_ms, NewRecord* record) {
  std::lock_guard lock(mutex_);
  if (const int64_t day = now_wall_ms / kMsPerDay; day != day_) {
    by_user_.clear();
    by_network_.clear();
    day_ = day;
  }
  if (auto* added = std::get_if<NewReport>(record))
    return IsHang(added->row.kind) && BoundReport(sender, &added->row);
  if (auto* end = std::get_if<report::HangEnd>(record)) {
    auto duration_ns = static_cast<int64_t>(std::min<uint64_t>(end->duration_ns, INT64_MAX));
    const bool is_bounded = BoundTime(sender, &duration_ns);
    end->duration_ns = static_cast<uint64_t>(duration_ns);
    return is_bounded;
  }
  if (auto* run = std::get_if<report::RunEnd>(record)) {
    auto hang_ns = static_cast<int64_t>(std::min<uint64_t>(run->hang_ns, INT64_MAX));
    const bool is_bounded = BoundTime(sender, &hang_ns);
    run->hang_ns = static_cast<uint64_t>(hang_ns);
    return is_bounded;
  }
  if (auto* added = std::get_if<NewUsage>(record)) {
    if (!BoundRate(&added->usage.sample_rate_ppm)) return false;
    report::AppendSampleRate(report::RecordType::kUsage, added->usage.sample_rate_ppm, &added->payload);
    return true;
  }
  auto* losses = std::get_if<report::Losses>(record);
  if (losses == nullptr) return false;
  bool is_bounded = false;
  for (auto& loss : losses->losses) is_bounded |= BoundRate(&loss.sample_rate_ppm);
  return is_bounded;
}

}  // namespace lagwatch::collector
