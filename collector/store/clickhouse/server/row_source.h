// SPDX-License-Identifier: Apache-2.0
// The source of the tables' rows: all nodes, or chosen ones. Thread-safe. Context: background.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "collector/store/clickhouse/server/connection.h"
#include "collector/store/clickhouse/server/schema.h"

namespace lagwatch::collector {

class RowSource {
 public:
  // Borrows both. Reads all rows, at whichever node answers.
  RowSource(Connection* connection, const Schema* schema) : connection_(connection), schema_(schema) {}
  // Reads the rows that these nodes have, one of each shard.
  RowSource(Connection* connection, const Schema* schema, std::vector<size_t> nodes)
      : connection_(connection), schema_(schema), nodes_(std::move(nodes)) {}

  // `columns` of a table, `rest` being the statement from WHERE on: at chosen nodes, it is executed at
  // each. Throws ClickHouseError.
  void Select(std::string_view columns, const Table& table, const std::string& rest, std::string_view kinds,
              const std::function<void(const Row&)>& visit, const ExternalTable* external = nullptr) const {
    const std::string select = "SELECT " + std::string(columns) + " FROM ";
    if (nodes_.empty())
      return connection_->Select(select + schema_->All(table) + rest, kinds, visit, external);
    for (size_t node : nodes_)
      connection_->SelectAt(node, select + schema_->OfShard(table) + rest, kinds, visit, external);
  }

 private:
  Connection* connection_;
  const Schema* schema_;
  std::vector<size_t> nodes_;
};

}  // namespace lagwatch::collector
