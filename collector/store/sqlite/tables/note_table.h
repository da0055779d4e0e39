// SPDX-License-Identifier: Apache-2.0
// Annotations of clusters in the database. All throw SqliteError. Context: background.
#pragma once

#include <vector>

#include "collector/store/records.h"
#include "collector/store/sqlite/database/database.h"

namespace lagwatch::collector {

void PutNote(Database* database, const ClusterNote& note);
// In the order of their keys.
std::vector<ClusterNote> ReadNotes(Database* database);

}  // namespace lagwatch::collector
