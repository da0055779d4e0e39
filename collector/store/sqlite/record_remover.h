// SPDX-License-Identifier: Apache-2.0
// Removes records by a removal's subject (store/removal.h), in two parts: a reader finds some, which
// may take long, and the writer removes them, which does not. All throw SqliteError. Context:
// background. Not thread-safe.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/uuid.h"
#include "collector/store/removal.h"
#include "collector/store/sqlite/database/database.h"
#include "collector/store/sqlite/report_writer.h"

namespace lagwatch::collector {

// Records of one kind. Tables without a rowid have no rows, tables without an id no ids.
struct FoundRecords {
  std::vector<int64_t> rows;
  std::vector<std::string> ids;

  bool empty() const { return rows.empty() && ids.empty(); }
};

// Up to `limit` records of the progress' stage that are to be removed; of a cause, with all reports of their
// hangs.
FoundRecords FindRecords(Database* database, const Removal& removal, const RemovalProgress& progress,
                         int64_t limit);
// Removes them within the writer's transaction, with their contributions to sums.
void RemoveRecords(Database* database, ReportWriter* reports, const FoundRecords& found,
                   RemovalProgress* progress);
// Continues after `found`; returns false if that was all.
bool Advance(const Removal& removal, const FoundRecords& found, int64_t limit, RemovalProgress* progress);

}  // namespace lagwatch::collector
