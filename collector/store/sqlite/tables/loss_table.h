// SPDX-License-Identifier: Apache-2.0
// Losses and their sums in the database. All throw SqliteError. Context: background.
#pragma once

#include <cstdint>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "base/uuid.h"
#include "collector/store/records.h"
#include "collector/store/sqlite/database/database.h"

namespace lagwatch::collector {

// Adds a record's losses and inserts the causes that they are of into `causes`. `sender` is the key that
// brought it (schema.h). Returns whether any of it is new.
bool InsertLosses(Database* database, const report::Losses& losses, int64_t sender,
                  std::set<int64_t>* causes);
// Takes records with ids before `end` out of the table and out of the sums. Inserts their
// causes into `causes`.
void RemoveLosses(Database* database, const base::Uuid& end, std::set<int64_t>* causes);
// The same of records with these ids, as bytes.
void RemoveLosses(Database* database, std::span<const std::string> ids, std::set<int64_t>* causes);
// Rebuilds the sums of all losses. Inserts their causes, including those that have none left, into `causes`.
void RebuildLossSums(Database* database, std::set<int64_t>* causes);

std::vector<LossRow> ReadLosses(Database* database, const ReportFilter& filter);

}  // namespace lagwatch::collector
