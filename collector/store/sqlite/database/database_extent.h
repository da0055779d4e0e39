// SPDX-License-Identifier: Apache-2.0
// The size of a database and its log, and how far back its records go. All throw
// SqliteError. Context: background.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "collector/store/sqlite/database/database.h"

namespace lagwatch::collector {

struct StoreSize {
  uint64_t used_bytes = 0;  // of the database, without its free pages
  uint64_t free_bytes = 0;  // pages that records left, which new ones use before the file grows
  uint64_t log_bytes = 0;   // of the write-ahead log
};

struct PageCounts {
  int64_t all = 0;
  int64_t free = 0;
};

PageCounts CountPages(Database* database);
int64_t PageSize(Database* database);
// Size in bytes of the log of the database at `path`; 0 without one.
uint64_t LogSize(const std::string& path);
// Has the log written to the database whenever it is about that large, and cut to that afterwards.
void BoundLog(Database* database, uint64_t size_bytes);
// Writes the log to the database and cuts it to nothing. False while readers need it.
bool TruncateLog(Database* database);

// As StoreMaintenance::OldestDay.
std::optional<int64_t> ReadOldestDay(Database* database);

}  // namespace lagwatch::collector
