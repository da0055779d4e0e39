// SPDX-License-Identifier: Apache-2.0
// Takes the rows that belong to a removal out of a batch that has not come to ClickHouse. Context:
// background; pure.
#pragma once

#include <span>

#include "base/uuid.h"
#include "collector/store/clickhouse/insert/batch_spool.h"
#include "collector/store/removal.h"

namespace lagwatch::collector {

// Returns whether rows were taken out; a batch that has no records any more has no parts. `report_ids`, which
// are sorted, are removed from ClickHouse: what belongs to them goes, too.
bool TakeOut(const Removal& removal, std::span<const base::Uuid> report_ids, Batch* batch);

}  // namespace lagwatch::collector
