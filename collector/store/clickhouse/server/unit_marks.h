// SPDX-License-Identifier: Apache-2.0
// Writes marks (schema.h) that no batch makes. All throw ClickHouseError. Context: background.
// Not thread-safe.
#pragma once

#include <cstdint>
#include <set>

#include "collector/store/clickhouse/server/connection.h"
#include "collector/store/clickhouse/server/row_source.h"
#include "collector/store/clickhouse/server/schema.h"
#include "collector/store/clickhouse/server/sums_unit.h"

namespace lagwatch::collector {

// Marks units with a number of `collector`.
void InsertMarks(Connection* connection, const Schema& schema, const std::set<int64_t>& units,
                 int64_t collector, int64_t number);

// Whether the column `collector` of a mark says that rows were removed.
inline bool IsOfRemoval(int64_t collector) { return collector < 0; }

// Marks of units whose rows a mutation removes, some time after it was asked for. A unit is marked before and
// after that, so that sums which were made in between are made again. A mark that has no second one, because
// its collector was killed, gets it from whichever collector removes something next.
class RemovalMarks {
 public:
  // Borrows both. `collector` is that of the process (versions.h).
  RemovalMarks(Connection* connection, const Schema* schema, int64_t collector)
      : connection_(connection), schema_(schema), collector_(-collector) {}

  // Before the mutations.
  void Begin(const std::set<int64_t>& units);
  // After the end of all mutations. Reads the marks from `rows`.
  void End(const RowSource& rows);

 private:
  Connection* const connection_;
  const Schema* const schema_;
  const int64_t collector_;
  int64_t count_ = 0;
};

}  // namespace lagwatch::collector
