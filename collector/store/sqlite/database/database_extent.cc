// SPDX-License-Identifier: Apache-2.0
#include "collector/store/sqlite/database/database_extent.h"

#include <sys/stat.h>

#include <algorithm>

#include "base/uuid.h"
#include "collector/store/records.h"

namespace lagwatch::collector {
namespace {

int64_t ReadPragma(Database* database, const char* pragma) {
  Statement row = database->Use(pragma);
  return row.Step() ? row.Int(0) : 0;
}

}  // namespace

PageCounts CountPages(Database* database) {
  return {.all = ReadPragma(database, "PRAGMA page_count"),
          .free = ReadPragma(database, "PRAGMA freelist_count")};
}

int64_t PageSize(Database* database) { return ReadPragma(database, "PRAGMA page_size"); }

uint64_t LogSize(const std::string& path) {
  struct stat status {};
  return stat((path + "-wal").c_str(), &status) == 0 ? static_cast<uint64_t>(status.st_size) : 0;
}

void BoundLog(Database* database, uint64_t size_bytes) {
  const auto pages = static_cast<int64_t>(size_bytes) / PageSize(database);
  database->Execute(("PRAGMA wal_autocheckpoint = " + std::to_string(std::max<int64_t>(pages, 1)) +
                     "; PRAGMA journal_size_limit = " + std::to_string(size_bytes))
                        .c_str());
}

bool TruncateLog(Database* database) {
  Statement row = database->Use("PRAGMA wal_checkpoint(TRUNCATE)");
  return row.Step() && row.Int(0) == 0;
}

std::optional<int64_t> ReadOldestDay(Database* database) {
  std::optional<int64_t> oldest;
  const auto note = [&](int64_t day) { oldest = std::min(oldest.value_or(day), day); };
  for (const char* sql :
       {"SELECT min(id) FROM reports", "SELECT min(id) FROM traces", "SELECT min(id) FROM losses"}) {
    Statement row = database->Use(sql);
    if (!row.Step()) continue;
    if (const auto id = base::TryUuidFromBytes(row.Bytes(0))) note(DayOf(*id));
  }
  for (const char* sql :
       {"SELECT min(end_wall_ms) FROM usage", "SELECT min(begin_wall_ms) FROM frame_slices"}) {
    Statement row = database->Use(sql);
    if (!row.Step()) continue;
    if (const auto wall_ms = row.OptionalInt(0)) note(std::max<int64_t>(*wall_ms, 0) / kMsPerDay);
  }
  return oldest;
}

}  // namespace lagwatch::collector
