// SPDX-License-Identifier: Apache-2.0
// Reads traces, each once. All throw ClickHouseError. Thread-safe. Context: background.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "collector/store/clickhouse/server/connection.h"
#include "collector/store/clickhouse/server/schema.h"
#include "collector/store/records.h"

namespace lagwatch::collector {

class TraceReader {
 public:
  // Borrows both.
  TraceReader(Connection* connection, const Schema* schema) : connection_(connection), schema_(schema) {}

  // See StoredTraces.
  std::vector<TraceRow> TracesOf(std::span<const base::Uuid> report_ids);
  std::vector<TraceRow> List(const ReportFilter& filter, int64_t limit,
                             const std::optional<base::Uuid>& before);
  std::optional<StoredTrace> Find(const base::Uuid& id);

 private:
  Connection* connection_;
  const Schema* schema_;
};

}  // namespace lagwatch::collector
