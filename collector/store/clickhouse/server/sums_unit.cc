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

int64_t MsOf(const base::Uuid& id) {
  uint64_t wall_ms = 0;
  for (size_t i = 0; i < 6; ++i) wall_ms = wall_ms << 8 | id.bytes[i];
  return static_cast<int64_t>(wall_ms);
}

}  // namespace

int64_t HourOf(const base::Uuid& id) {
  return std::clamp<int64_t>(MsOf(id) / kMsPerHour, 24, kLastDay * 24 + 23);
}

base::Uuid FirstIdOfHour(int64_t hour) {
  base::Uuid id;
  const auto wall_ms = static_cast<uint64_t>(hour * kMsPerHour);
  for (size_t i = 0; i < 6; ++i) id.bytes[i] = static_cast<uint8_t>(wall_ms >> (40 - 8 * i));
  return id;
}

int64_t HomeHourOf(const base::Uuid& id, const base::Uuid& hang_id) {
  const int64_t after_ms = MsOf(id) - MsOf(hang_id);
  return HourOf(after_ms >= -kBeforeMs && after_ms <= kAfterMs ? hang_id : id);
}

}  // namespace lagwatch::collector
