// SPDX-License-Identifier: Apache-2.0
// Finds nodes whose own tables have all rows: a replica that has just come back answers, and lacks what was
// inserted meanwhile. All throw ClickHouseError. Thread-safe. Context: background.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "collector/store/clickhouse/server/connection.h"
#include "collector/store/clickhouse/server/schema.h"

namespace lagwatch::collector {

// The tables that sums are made of, and their own.
inline constexpr std::array kTablesOfSums = {kReports, kPlacements, kEnds, kUsage, kDaySums};

class ShardNodes {
 public:
  // Borrows both.
  ShardNodes(Connection* connection, const Schema* schema) : connection_(connection), schema_(schema) {}

  // One node of each shard that has all rows of `tables` that were inserted before the call. With
  // `has_mutations`, also none of the rows that mutations removed which began before the call.
  std::vector<size_t> FindComplete(std::span<const Table> tables, bool has_mutations);
  // The number of unfinished mutations of the database's tables at nodes that answer. Each shard has such a
  // node.
  int64_t CountMutations();

 private:
  std::string ShardOf(size_t node);
  size_t CountShards();
  bool HasAll(size_t node, std::span<const Table> tables);
  bool HasMutated(size_t node, std::span<const Table> tables);
  bool IsLogEmpty(size_t node, const std::string& path);

  Connection* connection_;
  const Schema* schema_;
};

}  // namespace lagwatch::collector
