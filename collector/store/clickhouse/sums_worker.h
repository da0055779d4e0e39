// SPDX-License-Identifier: Apache-2.0
// Keeps the table of sums up to date: one unit (sums_unit.h) after the other whose rows changed. Of several
// collectors, one does so at a time, by a lease; two at once would cost time and spoil nothing, because a
// unit's sums and what they were made of are swapped in together. docs/design/clickhouse.md has the reasons.
// All throw ClickHouseError. Not thread-safe. Context: background.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "collector/store/clickhouse/read/sums_plan.h"
#include "collector/store/clickhouse/server/connection.h"
#include "collector/store/clickhouse/server/schema.h"
#include "collector/store/clickhouse/server/sums_unit.h"
#include "collector/store/clickhouse/server/versions.h"

namespace lagwatch::collector {

class SumsWorker {
 public:
  // Borrows all. `wall_ms` returns the time.
  SumsWorker(Connection* connection, const Schema* schema, Versions* versions,
             std::function<int64_t()> wall_ms)
      : connection_(connection), schema_(schema), versions_(versions), wall_ms_(std::move(wall_ms)) {}

  // Sums up one unit, if there is one to do and no other collector does so; returns whether it did: there may
  // be more to do. Nothing is done while a shard has no node that has all of its rows.
  bool Step();
  // Marks units, once for each day: reports of days before that one were removed.
  void MarkRemoved(int64_t day);

  // Sums up a unit as soon as it changed, however long that takes each time.
  void HurryForTest() { is_in_hurry_ = true; }

 private:
  using Nodes = std::vector<size_t>;  // one of each shard
  // Units, and the node that has their sums.
  using Places = std::map<int64_t, size_t>;

  bool TryLease();
  Nodes FindNodes(const UnitStates& known);
  Places FindPlaces(const Nodes& nodes);
  bool MarkAll(const RowSource& rows, const UnitStates& known);
  void FindHangs(const RowSource& rows, const UnitStates& known);
  std::optional<SumsUnit> Next(const UnitStates& known);
  void SumUp(SumsUnit unit, int64_t marks, const Nodes& nodes, size_t to);
  std::optional<SumsUnit> NextSpan(const UnitStates& known, const std::set<int64_t>& units);
  void AddUp(SumsUnit unit, const Nodes& nodes, SumRows* sums, const std::function<void()>& on_row);
  int64_t AddDays(SumsUnit span, const Nodes& nodes, SumRows* sums, const std::function<void()>& on_part);
  void Replace(SumsUnit unit, const std::string& from, size_t node);
  void DropHours(const UnitStates& known, const Places& places);
  void DropLeftTables(const Nodes& nodes);
  void Insert(const std::set<int64_t>& units, int64_t collector, int64_t number);

  Connection* connection_;
  const Schema* schema_;
  Versions* versions_;
  const std::function<int64_t()> wall_ms_;
  int64_t lease_since_ms_ = 0;  // 0: has none
  bool is_in_hurry_ = false;
};

}  // namespace lagwatch::collector
