// SPDX-License-Identifier: Apache-2.0
#include "collector/store/clickhouse/server/node_tables.h"

#include <algorithm>
#include <future>
#include <string>
#include <utility>

#include "collector/store/clickhouse/server/conditions.h"

namespace lagwatch::collector {

void NodeTables::Make() {
  std::lock_guard lock(mutex_);
  std::vector<std::pair<size_t, std::future<void>>> made;
  for (size_t node = 0; node < is_made_.size(); ++node) {
    if (!is_made_[node])
      made.emplace_back(node, std::async(std::launch::async, [this, node] { MakeAt(node); }));
  }
  std::string error;
  for (auto& [node, done] : made) {
    try {
      done.get();
      is_made_[node] = true;
    } catch (const ClickHouseError& failed) {
      error = failed.what();
    }
  }
  if (std::ranges::find(is_made_, true) == is_made_.end()) throw ClickHouseError(error);
}

void NodeTables::MakeAt(size_t node) {
  size_t count = 0;
  connection_->SelectAt(node, schema_->CountTables(), "i",
                        [&](const Row& row) { count = static_cast<size_t>(row.Int(0)); });
  if (count == schema_->table_count()) return;
  for (const std::string& statement : schema_->Statements()) connection_->ExecuteAt(node, statement);
}

void NodeTables::DropBefore(int64_t day, const Table* only) {
  std::string error;
  size_t failed = 0;
  for (size_t node = 0; node < connection_->node_count(); ++node) {
    try {
      DropAt(node, day, only);
    } catch (const ClickHouseError& refused) {
      error = refused.what();
      ++failed;
    }
  }
  if (failed == connection_->node_count()) throw ClickHouseError(error);
}

void NodeTables::DropAt(size_t node, int64_t day, const Table* only) {
  std::vector<std::string> statements;
  const auto find = [&](const Table& table, const std::string& condition) {
    connection_->SelectAt(
        node,
        "SELECT DISTINCT partition FROM system.parts WHERE active AND database = " +
            SqlText(schema_->database()) + " AND table = " + SqlText(table.name) + " AND " + condition,
        "s", [&](const Row& row) {
          statements.push_back("ALTER TABLE " + schema_->OfShard(table) + " DROP PARTITION " +
                               (table.is_sums ? row.Text(0) : SqlText(row.Bytes(0))));
        });
  };
  for (const Table& table : kTables) {
    if (!table.is_kept && (only == nullptr || only->name == table.name))
      find(table, "partition < toString(" + DateOf(day) + ")");
  }
  if (only == nullptr && day > kDaysOfAHang) {
    // Hangs that began earlier may have reports that stay.
    const int64_t first_day = day - kDaysOfAHang;
    find(kMarks, "partition < toString(" + DateOf(first_day) + ") AND partition > toString(toDate(1))");
    find(kDaySums, "toInt64(partition) < " + std::to_string(SumsUnit::OfHour(first_day * 24).number()));
  }
  for (const std::string& statement : statements) connection_->ExecuteAt(node, statement);
}

}  // namespace lagwatch::collector
