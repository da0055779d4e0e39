// SPDX-License-Identifier: Apache-2.0
// The traces of a database. All throw SqliteError. Context: background.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "collector/store/records.h"
#include "collector/store/sqlite/database/database.h"

namespace lagwatch::collector {

// Within a transaction; false when it was there already. `sender` is the key that brought it (schema.h).
bool InsertTrace(Database* database, const NewTrace& added, int64_t sender);
// Likewise, up to `limit` with ids before `end`; returns how many.
int64_t RemoveTraces(Database* database, const base::Uuid& end, int64_t limit);

// As Store::TracesOf, Store::ListTraces and Store::FindTrace.
std::vector<TraceRow> ReadTracesOf(Database* database, std::span<const base::Uuid> report_ids);
std::vector<TraceRow> ListTracesIn(Database* database, const ReportFilter& filter, int64_t limit,
                                   const std::optional<base::Uuid>& before);
std::optional<StoredTrace> ReadTrace(Database* database, const base::Uuid& id);

}  // namespace lagwatch::collector
