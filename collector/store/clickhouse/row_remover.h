// SPDX-License-Identifier: Apache-2.0
// Removes records by what they are about (store/removal.h): finds their ids, and asks ClickHouse for
// mutations of the tables that have them. A mutation goes on without the collector. Nothing is remembered
// from one round to the next: a round waits for the mutations that there are, and looks for what is left.
// docs/design/clickhouse.md has the reasons. Throws ClickHouseError. Not thread-safe. Context: background.
#pragma once

#include <cstdint>
#include <functional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/uuid.h"
#include "collector/store/clickhouse/insert/batch_spool.h"
#include "collector/store/clickhouse/insert/record_rows.h"
#include "collector/store/clickhouse/server/connection.h"
#include "collector/store/clickhouse/server/row_source.h"
#include "collector/store/clickhouse/server/schema.h"
#include "collector/store/clickhouse/server/unit_marks.h"
#include "collector/store/removal.h"

namespace lagwatch::collector {

class RowRemover {
 public:
  // Gets the ids of the reports that are about to be removed, also when there are none.
  using OnFound = std::function<void(std::span<const base::Uuid> report_ids)>;

  // Borrows both. `collector` is that of the process (versions.h).
  RowRemover(Connection* connection, const Schema* schema, int64_t collector)
      : connection_(connection), schema_(schema), marks_(connection, schema, collector) {}

  // One round. Returns whether it found something, which is counted in `progress`: another round is to
  // follow. Throws, too, when mutations have not ended within a few seconds; they go on.
  bool Step(const Removal& removal, const OnFound& on_found, RemovalProgress* progress);

 private:
  using Ids = std::vector<base::Uuid>;
  struct Rows;
  struct Plan;

  void AwaitMutations();
  Ids FindIds(const Removal& removal, const RecordKind& kind, const RowSource& rows);
  Ids FindInCluster(const Removal& removal, const RowSource& rows);
  void PlanReports(const Ids& ids, const RowSource& rows, Plan* plan);
  void PlanSenders(const RowSource& rows, Plan* plan);
  void PlanOthers(const RecordKind& kind, const Ids& ids, const RowSource& rows, Plan* plan);
  void PlanRunEnds(const Ids& ids, const RowSource& rows, Plan* plan);
  int64_t Add(const Table& table, const std::string& id, const std::string& where, const Ids& ids,
              const RowSource& rows, Plan* plan);
  void MarkHomes(const Ids& report_ids, const RowSource& rows, Plan* plan);
  void Execute(const Plan& plan, std::span<const size_t> nodes);

  Connection* const connection_;
  const Schema* const schema_;
  RemovalMarks marks_;
};

// Takes the rows that belong to a removal out of a batch that has not come to ClickHouse. Pure.
// Returns whether rows were taken out; a batch that has no records any more has no parts. `report_ids`, which
// are sorted, are removed from ClickHouse: what belongs to them goes, too.
bool TakeOut(const Removal& removal, std::span<const base::Uuid> report_ids, Batch* batch);

}  // namespace lagwatch::collector
