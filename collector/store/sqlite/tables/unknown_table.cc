// SPDX-License-Identifier: Apache-2.0
#include "base/clock.h"
#include "collector/store/sqlite/tables/record_tables.h"
#include "collector/store/store.h"

namespace lagwatch::collector {
namespace {

int64_t Count(Database* database) {
  Statement count = database->Use("SELECT count(*) FROM unknown_records");
  count.Step();
  return count.Int(0);
}

bool Has(Database* database, const report::OwnedRecord& record) {
  Statement found = database->Use("SELECT 1 FROM unknown_records WHERE type = ? AND payload = ?");
  found.Bind(int64_t{Number(record.type)}, Blob{record.payload});
  return found.Step();
}

}  // namespace

CommitOutcome UnknownTable::Insert(Database* database, const report::OwnedRecord& record, int64_t sender) {
  if (Has(database, record)) return CommitOutcome::kDuplicate;
  if (!count_) count_ = Count(database);
  if (*count_ >= Store::kMaxUnknownRecords) return CommitOutcome::kNoRoom;
  database->Use("INSERT INTO unknown_records (type, payload, received_wall_ms, sender) VALUES (?, ?, ?, ?)")
      .Bind(int64_t{Number(record.type)}, Blob{record.payload}, base::SystemClock().WallMs(), sender)
      .Run();
  ++*count_;
  return CommitOutcome::kStored;
}

void ReadUnknown(Database* database, const std::function<void(const report::OwnedRecord& record)>& visit) {
  Statement rows = database->Use("SELECT type, payload FROM unknown_records ORDER BY received_wall_ms");
  while (rows.Step()) visit({static_cast<report::RecordType>(rows.Int(0)), rows.Bytes(1)});
}

}  // namespace lagwatch::collector
