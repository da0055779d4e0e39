// SPDX-License-Identifier: Apache-2.0
#include "collector/store/clickhouse/server/schema.h"

#include "collector/store/clickhouse/server/connection.h"

namespace lagwatch::collector {
namespace {

// Lists read single clusters' rows, which are few.
constexpr char kSumsGranularity[] = "512";

std::string Concatenated(std::initializer_list<std::string_view> parts) {
  std::string text;
  for (std::string_view part : parts) text += part;
  return text;
}

std::string NamesOf(std::string_view columns) {
  std::string names;
  while (!columns.empty()) {
    const size_t name_end = columns.find(' ');
    const size_t column_end = columns.find(", ");
    names += Concatenated({names.empty() ? "" : ", ", columns.substr(0, name_end)});
    columns.remove_prefix(column_end == std::string_view::npos ? columns.size() : column_end + 2);
  }
  return names;
}

}  // namespace

std::string Schema::OfShard(const Table& table) const {
  return Concatenated({"`", url_.database, "`.", table.name});
}

std::string Schema::All(const Table& table) const { return OfShard(table) + (is_cluster() ? "_all" : ""); }

std::string Schema::Target(const Table& table) const {
  return Concatenated({All(table), " (", NamesOf(table.columns), ")"});
}

std::string Schema::Engine(const Table& table) const {
  const std::string kind = table.is_sums ? "MergeTree" : "ReplacingMergeTree";
  const std::string version = table.is_sums ? "" : "ver";
  if (!is_cluster()) return kind + "(" + version + ")";
  return Concatenated({"Replicated", kind, "('/clickhouse/tables/{shard}/", url_.database, "/", table.name,
                       "', '{replica}'", version.empty() ? "" : ", ", version, ")"});
}

std::string Schema::MakeNewSums(const std::string& name) const {
  return Concatenated({"CREATE TABLE `", url_.database, "`.", name, " (", kDaySums.columns,
                       ") ENGINE = MergeTree() PARTITION BY unit ORDER BY ", kDaySums.order_by,
                       " SETTINGS index_granularity = ", kSumsGranularity});
}

std::vector<std::string> Schema::Statements() const {
  std::vector<std::string> statements = {"CREATE DATABASE IF NOT EXISTS `" + url_.database + "`"};
  for (const Table& table : kTables) {
    statements.push_back(Concatenated(
        {"CREATE TABLE IF NOT EXISTS ", OfShard(table), " (", table.columns, ") ENGINE = ", Engine(table),
         table.is_sums     ? " PARTITION BY unit"
         : table.is_by_day ? " PARTITION BY day"
                           : "",
         " ORDER BY ", table.order_by,
         " SETTINGS index_granularity = ", table.is_sums ? kSumsGranularity : "8192",
         is_cluster() && !table.is_sums ? ", replicated_deduplication_window = 1000,"
                                          " replicated_deduplication_window_seconds = 604800"
                                        : ""}));
    if (!is_cluster()) continue;
    statements.push_back(Concatenated({"CREATE TABLE IF NOT EXISTS ", All(table), " AS ", OfShard(table),
                                       " ENGINE = Distributed(`", url_.cluster, "`, `", url_.database, "`, ",
                                       table.name, ", cityHash64(", table.shard_by, "))"}));
  }
  return statements;
}

std::string Schema::CountTables() const {
  std::string names;
  for (const Table& table : kTables) {
    for (const char* suffix : {"", "_all"})
      names += Concatenated({names.empty() ? "" : ", ", "'", table.name, suffix, "'"});
  }
  return "SELECT toInt64(count()) FROM system.tables WHERE database = " + SqlText(url_.database) +
         " AND name IN (" + names + ")";
}

size_t Schema::table_count() const { return kTables.size() * (is_cluster() ? 2 : 1); }

}  // namespace lagwatch::collector
