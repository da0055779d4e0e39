// SPDX-License-Identifier: Apache-2.0
// Limits the reports that a user sends per day, in all and per cause, so that a frequent cause cannot use up
// the day. The last places are reserved for important reports. Context: background; pure.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include "policies/options/option_table.h"
#include "policies/upload/report_priority.h"

namespace lagwatch::policies {

struct QuotaLimits {
  static constexpr uint32_t kNoLimit = UINT32_MAX;

  uint32_t per_day = OptionTable::reports_per_day.standard;
  uint32_t per_cluster = OptionTable::reports_per_cause.standard;  // of these

  // Of per_day, what reports of that priority may use up together with all others.
  uint32_t RoomFor(ReportPriority priority) const {
    constexpr std::array<uint32_t, kReportPriorities> kPercent = {50, 60, 75, 90, 100};
    return static_cast<uint32_t>((uint64_t{per_day} * kPercent[static_cast<size_t>(priority)] + 99) / 100);
  }
};

// The reports sent on a day. Plain data, kept across processes and restarts.
struct QuotaUse {
  static constexpr size_t kMaxClusters = 64;

  struct Cluster {
    uint64_t key;
    uint32_t count;
  };

  int64_t day = INT64_MIN;         // see DayOf()
  int64_t latest_day = INT64_MIN;  // the latest plausible day of the clock
  uint32_t count = 0;
  uint32_t cluster_count = 0;
  std::array<Cluster, kMaxClusters> clusters{};
};

enum class QuotaAnswer : uint8_t { kSend, kDayIsFull, kClusterIsFull };

class DailyQuota {
 public:
  DailyQuota(const QuotaLimits& limits, QuotaUse* use) : limits_(limits), use_(use) {}

  // Whether one more report of that cause may be sent; counts it if so.
  QuotaAnswer Take(uint64_t cluster_key, ReportPriority priority, int64_t day) {
    TurnTo(day);
    if (use_->count >= limits_.RoomFor(priority)) return QuotaAnswer::kDayIsFull;
    QuotaUse::Cluster* cluster = ClusterOf(cluster_key);
    if (cluster != nullptr && cluster->count >= limits_.per_cluster) return QuotaAnswer::kClusterIsFull;
    // With more causes per day than places only the day's limit applies: it is smaller, unless it was raised.
    if (cluster != nullptr) ++cluster->count;
    ++use_->count;
    return QuotaAnswer::kSend;
  }
  // Whether this amount may still be sent; counts it if so.
  bool TakeAmount(uint32_t amount, int64_t day) {
    TurnTo(day);
    if (limits_.per_day != QuotaLimits::kNoLimit &&
        (amount > limits_.per_day || use_->count > limits_.per_day - amount))
      return false;
    use_->count += std::min(amount, UINT32_MAX - use_->count);
    return true;
  }

 private:
  // A clock that was set back, or to and fro, brings no new quota; one that was years ahead does not stop the
  // count for years.
  void TurnTo(int64_t day) {
    constexpr int64_t kLongestStepDays = 30;
    if (day == use_->day) return;
    const bool is_new = day > use_->latest_day || use_->latest_day - day > kLongestStepDays;
    use_->day = day;
    if (!is_new) return;
    use_->latest_day = day;
    use_->count = 0;
    use_->cluster_count = 0;
  }

  QuotaUse::Cluster* ClusterOf(uint64_t key) {
    auto* const end = use_->clusters.begin() + std::min<size_t>(use_->cluster_count, QuotaUse::kMaxClusters);
    auto* known =
        std::find_if(use_->clusters.begin(), end, [&](const auto& cluster) { return cluster.key == key; });
    if (known != end) return known;
    if (use_->cluster_count >= QuotaUse::kMaxClusters) return nullptr;
    use_->clusters[use_->cluster_count] = {key, 0};
    return &use_->clusters[use_->cluster_count++];
  }

  QuotaLimits limits_;
  QuotaUse* use_;
};

}  // namespace lagwatch::policies
