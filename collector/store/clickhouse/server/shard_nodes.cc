// SPDX-License-Identifier: Apache-2.0
#include "collector/store/clickhouse/server/shard_nodes.h"

#include <algorithm>
#include <map>
#include <set>

namespace lagwatch::collector {
namespace {

std::string NamesOf(std::span<const Table> tables) {
  std::string names;
  for (const Table& table : tables) names += (names.empty() ? "'" : ", '") + std::string(table.name) + "'";
  return names;
}

}  // namespace

std::vector<size_t> ShardNodes::FindComplete(std::span<const Table> tables, bool has_mutations) {
  std::map<std::string, size_t> nodes;  // by shard
  std::string error;
  for (size_t node = 0; node < connection_->node_count(); ++node) {
    try {
      const std::string shard = ShardOf(node);
      if (!nodes.contains(shard) && HasAll(node, tables) && (!has_mutations || HasMutated(node, tables)))
        nodes.emplace(shard, node);
    } catch (const ClickHouseError& refused) {
      error = refused.what();
    }
    if (!schema_->is_cluster() && !nodes.empty()) break;
  }
  const size_t shards = nodes.empty() ? 1 : CountShards();
  if (nodes.size() < shards)
    throw ClickHouseError("a shard has no node with all of its rows" + (error.empty() ? "" : ": " + error));
  std::vector<size_t> all;
  for (const auto& [shard, node] : nodes) all.push_back(node);
  return all;
}

int64_t ShardNodes::CountMutations() {
  int64_t count = 0;
  std::set<std::string> shards;
  std::string error;
  for (size_t node = 0; node < connection_->node_count(); ++node) {
    try {
      connection_->SelectAt(
          node,
          "SELECT toInt64(count()) FROM system.mutations WHERE is_done = 0 AND database = " +
              SqlText(schema_->database()),
          "i", [&](const Row& row) { count += row.Int(0); });
      shards.insert(ShardOf(node));
    } catch (const ClickHouseError& refused) {
      error = refused.what();
    }
    if (!schema_->is_cluster() && !shards.empty()) break;
  }
  if (shards.empty() || shards.size() < CountShards())
    throw ClickHouseError("a shard has no node that answers: " + error);
  return count;
}

std::string ShardNodes::ShardOf(size_t node) {
  std::string shard;
  if (!schema_->is_cluster()) return shard;
  connection_->SelectAt(node, "SELECT substitution FROM system.macros WHERE macro = 'shard'", "s",
                        [&](const Row& row) { shard = row.Text(0); });
  return shard;
}

size_t ShardNodes::CountShards() {
  int64_t shards = 1;
  if (!schema_->is_cluster()) return 1;
  connection_->Select("SELECT toInt64(uniqExact(shard_num)) FROM system.clusters WHERE cluster = " +
                          SqlText(schema_->cluster()),
                      "i", [&](const Row& row) { shards = row.Int(0); });
  return static_cast<size_t>(std::max<int64_t>(shards, 1));
}

// Whatever was inserted at other replicas before this was asked. A replica that has just come back may not
// know yet what it lacks; ZooKeeper, whose log's end `log_max_index` is, does.
bool ShardNodes::HasAll(size_t node, std::span<const Table> tables) {
  if (!schema_->is_cluster()) return true;
  size_t found = 0;
  bool has_all = true;
  std::vector<std::string> unread;
  connection_->SelectAt(
      node,
      "SELECT zookeeper_path, toInt64(is_readonly OR is_session_expired OR inserts_in_queue > 0),"
      " toInt64(log_pointer), toInt64(log_max_index) FROM system.replicas WHERE database = " +
          SqlText(schema_->database()) + " AND table IN (" + NamesOf(tables) + ")",
      "siii", [&](const Row& row) {
        ++found;
        has_all &= row.Int(1) == 0 && row.Int(2) >= row.Int(3);
        // Of no entry at all and of one that it has not read, both are 0 alike.
        if (row.Int(2) == row.Int(3)) unread.push_back(row.Text(0));
      });
  if (found != tables.size() || !has_all) return false;
  return std::ranges::all_of(unread, [&](const std::string& path) { return IsLogEmpty(node, path); });
}

// A node may not know yet of the last mutation: ZooKeeper does.
bool ShardNodes::HasMutated(size_t node, std::span<const Table> tables) {
  struct Mutations {
    int64_t unfinished = 0;
    std::string last = {};
  };
  std::map<std::string, Mutations> known;  // by table
  connection_->SelectAt(node,
                        "SELECT table, toInt64(countIf(is_done = 0)), max(mutation_id) FROM system.mutations "
                        "WHERE database = " +
                            SqlText(schema_->database()) + " AND table IN (" + NamesOf(tables) +
                            ") GROUP BY table",
                        "sis", [&](const Row& row) {
                          known[row.Text(0)] = {row.Int(1), row.Text(2)};
                        });
  for (const auto& [table, mutations] : known)
    if (mutations.unfinished > 0) return false;
  if (!schema_->is_cluster()) return true;
  std::map<std::string, std::string> paths;  // of tables
  connection_->SelectAt(node,
                        "SELECT table, zookeeper_path FROM system.replicas WHERE database = " +
                            SqlText(schema_->database()) + " AND table IN (" + NamesOf(tables) + ")",
                        "ss", [&](const Row& row) { paths[row.Text(0)] = row.Text(1); });
  for (const auto& [table, path] : paths) {
    std::string last;
    connection_->SelectAt(
        node, "SELECT max(name) FROM system.zookeeper WHERE path = " + SqlText(path + "/mutations"), "s",
        [&](const Row& row) { last = row.Text(0); });
    if (last > known[table].last) return false;
  }
  return true;
}

bool ShardNodes::IsLogEmpty(size_t node, const std::string& path) {
  int64_t entries = 1;
  connection_->SelectAt(
      node, "SELECT toInt64(count()) FROM system.zookeeper WHERE path = " + SqlText(path + "/log"), "i",
      [&](const Row& row) { entries = row.Int(0); });
  return entries == 0;
}

}  // namespace lagwatch::collector
