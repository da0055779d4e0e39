// SPDX-License-Identifier: Apache-2.0
// Work at each node by itself: creates its tables, and drops old days. No statement goes to all nodes of a
// cluster at once: one that is away would block it, and some versions do not survive it. Both throw
// ClickHouseError. Thread-safe. Context: background.
#pragma once

#include <cstdint>
#include <mutex>
#include <vector>

#include "collector/store/clickhouse/server/connection.h"
#include "collector/store/clickhouse/server/schema.h"

namespace lagwatch::collector {

class NodeTables {
 public:
  // Borrows both.
  NodeTables(Connection* connection, const Schema* schema)
      : connection_(connection), schema_(schema), is_made_(connection->node_count()) {}

  // At the nodes that answer, and did not before. Throws when none has ever answered.
  void Make();
  // Drops the days before that one, at the nodes that answer: one of each shard is enough. Throws when none
  // does. With `only`, of that table alone.
  void DropBefore(int64_t day, const Table* only = nullptr);

 private:
  void MakeAt(size_t node);
  void DropAt(size_t node, int64_t day, const Table* only);

  Connection* connection_;
  const Schema* schema_;
  std::mutex mutex_;
  std::vector<bool> is_made_;  // by node; guarded by mutex_
};

}  // namespace lagwatch::collector
