// SPDX-License-Identifier: Apache-2.0
#include "collector/store/clickhouse/server/sums_unit.h"

#include <algorithm>

#include "collector/store/clickhouse/server/row_binary.h"

namespace lagwatch::collector {
namespace {

constexpr int64_t kMsPerHour = 3'600'000;
// The longest plausible time between a report and its hang's first report, before and after: clocks are set
// back, and no longer hang is plausible (cause_sums.cc).
constexpr int64_t kBeforeMs = kMsPerHour;
constexpr int64_t kAfterMs = 31 * kMsPerDay;

}  // namespace

int64_t HourOf(const base::Uuid& id) {
  return std::clamp<int64_t>(WallMsOf(id) / kMsPerHour, 24, kLastDay * 24 + 23);
}

base::Uuid FirstIdOfHour(int64_t hour) { return FirstIdAt(hour * kMsPerHour); }

int64_t HomeHourOf(const base::Uuid& id, const base::Uuid& hang_id) {
  const int64_t after_ms = WallMsOf(id) - WallMsOf(hang_id);
  return HourOf(after_ms >= -kBeforeMs && after_ms <= kAfterMs ? hang_id : id);
}

}  // namespace lagwatch::collector
