// SPDX-License-Identifier: Apache-2.0
#include "collector/store/sqlite/usage_sums.h"

#include <algorithm>

#include "collector/store/records.h"

namespace lagwatch::collector {

void AddToUsageSums(Database* database, const report::Usage& usage) {
  const auto end_wall_ms = static_cast<int64_t>(std::min<uint64_t>(usage.end_wall_ms, INT64_MAX));
  database
      ->Use(
          "INSERT INTO usage_sums (day, app, version, watched_ns) VALUES (?, ?, ?, ?)"
          " ON CONFLICT DO UPDATE SET watched_ns = watched_ns + excluded.watched_ns")
      .Bind(end_wall_ms / kMsPerDay, usage.app, usage.app_version, WatchedNsOf(usage))
      .Run();
}

}  // namespace lagwatch::collector
