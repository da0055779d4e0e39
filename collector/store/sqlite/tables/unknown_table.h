// SPDX-License-Identifier: Apache-2.0
// Records of types that only a newer lagwatch knows, in the database. Not thread-safe. All throw SqliteError.
// Context: background.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>

#include "collector/store/records.h"
#include "collector/store/sqlite/database/database.h"

namespace lagwatch::collector {

class UnknownTable {
 public:
  // To be called at the beginning of a transaction that inserts.
  void Begin() { count_.reset(); }
  // `sender` is the key that brought it (schema.h).
  CommitOutcome Insert(Database* database, const report::OwnedRecord& record, int64_t sender);

 private:
  std::optional<int64_t> count_;  // known within a transaction that needs it
};

// In the order in which they came.
void ReadUnknown(Database* database, const std::function<void(const report::OwnedRecord& record)>& visit);

}  // namespace lagwatch::collector
