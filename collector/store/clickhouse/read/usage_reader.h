// SPDX-License-Identifier: Apache-2.0
// Reads how long programs were watched. All throw ClickHouseError. Thread-safe. Context: background.
#pragma once

#include <functional>
#include <string_view>
#include <vector>

#include "collector/store/clickhouse/read/sums_plan.h"
#include "collector/store/clickhouse/server/connection.h"
#include "collector/store/clickhouse/server/schema.h"
#include "collector/store/records.h"
#include "collector/store/version_sums.h"

namespace lagwatch::collector {

class UsageReader {
 public:
  // Borrows all.
  UsageReader(Connection* connection, const Schema* schema, KnownUnits* units)
      : connection_(connection), schema_(schema), units_(units) {}

  // As Store says.
  double WatchedNs(const ReportFilter& filter);
  std::vector<WatchedVersion> WatchedVersions(const ReportFilter& filter);
  std::vector<RunEndRow> RunEndsOf(std::span<const base::Uuid> session_ids);
  std::vector<ExitCount> CountExits(const ReportFilter& filter);
  void ForEach(const ReportFilter& filter, const std::function<void(std::string_view payload)>& visit);

 private:
  Connection* connection_;
  const Schema* schema_;
  KnownUnits* units_;
};

}  // namespace lagwatch::collector
