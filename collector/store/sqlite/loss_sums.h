// SPDX-License-Identifier: Apache-2.0
// Removes losses, and what they contributed to the sums of losses and to the estimates of causes.
// All throw SqliteError. Context: background. Not thread-safe.
#pragma once

#include <span>
#include <string>

#include "collector/store/sqlite/database.h"
#include "collector/store/sqlite/report_writer.h"

namespace lagwatch::collector {

// Records of losses by their ids. Within a transaction that `reports` finishes.
void RemoveLosses(Database* database, std::span<const std::string> ids, ReportWriter* reports);

}  // namespace lagwatch::collector
