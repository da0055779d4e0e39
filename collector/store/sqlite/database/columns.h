// SPDX-License-Identifier: Apache-2.0
// Writes and reads the columns of a table of columns (store/rows/column.h) in SQLite. Context: background.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>

#include "base/uuid.h"
#include "collector/store/rows/column.h"
#include "collector/store/sqlite/database/database.h"

namespace lagwatch::collector {

inline void ReadValue(const Statement& row, int column, int64_t* value) { *value = row.Int(column); }
inline void ReadValue(const Statement& row, int column, bool* value) { *value = row.Int(column) != 0; }
inline void ReadValue(const Statement& row, int column, std::string* value) { *value = row.Text(column); }
inline void ReadValue(const Statement& row, int column, base::Uuid* value) { *value = row.Id(column); }
inline void ReadValue(const Statement& row, int column, std::optional<int64_t>* value) {
  *value = row.OptionalInt(column);
}

// The type of a column that is added to a table, with its value in rows that are there.
template <typename Value>
constexpr std::string_view AddedTypeOf() {
  if (std::is_same_v<Value, base::Uuid>) return "BLOB NOT NULL DEFAULT x''";
  if (std::is_same_v<Value, std::string>) return "TEXT NOT NULL DEFAULT ''";
  if (std::is_same_v<Value, std::optional<int64_t>>) return "INTEGER";
  return "INTEGER NOT NULL DEFAULT 0";
}

// All columns, for SELECT: of `table`, of the segments, and of the clusters `one` and `two`.
template <typename Columns>
std::string SelectedColumns(std::string_view table, const Columns& columns) {
  std::string sql;
  ForEachColumn(columns, [&](const auto& column) {
    if (!sql.empty()) sql += ", ";
    switch (column.place) {
      case ColumnPlace::kLevel1:
        sql += "one.key";
        return;
      case ColumnPlace::kLevel2:
        sql += "two.key";
        return;
      case ColumnPlace::kSegments:
        sql += "segments.";
        break;
      case ColumnPlace::kTable:
      case ColumnPlace::kAccount:
        sql.append(table).append(".");
        break;
    }
    sql.append(column.name);
  });
  return sql;
}

// Reads what SelectedColumns() names, from the first column on.
template <typename Record, typename Columns>
Record ReadRecord(const Statement& row, const Columns& columns) {
  Record record;
  int index = 0;
  ForEachColumn(columns, [&](const auto& column) { ReadValue(row, index++, &(record.*column.member)); });
  return record;
}

// A statement that inserts the columns of the table that a record has by itself, and `others` after them;
// `insert_into` is its beginning.
template <typename Columns>
std::string InsertColumns(std::string_view insert_into, const Columns& columns,
                          std::string_view others = {}) {
  std::string names;
  std::string values;
  const auto add = [&](std::string_view name) {
    names.append(names.empty() ? "" : ", ").append(name);
    values += values.empty() ? "?" : ", ?";
  };
  ForEachColumn(columns, [&](const auto& column) {
    if (column.place == ColumnPlace::kTable) add(column.name);
  });
  while (!others.empty()) {
    const size_t end = others.find(", ");
    add(others.substr(0, end));
    others.remove_prefix(end == std::string_view::npos ? others.size() : end + 2);
  }
  return std::string(insert_into) + " (" + names + ") VALUES (" + values + ")";
}

// Binds the same columns.
template <typename Record, typename Columns>
void BindRecord(const Record& record, const Columns& columns, Statement* statement) {
  ForEachColumn(columns, [&](const auto& column) {
    using Value = typename std::remove_cvref_t<decltype(column)>::ValueType;
    if (column.place != ColumnPlace::kTable) return;
    if constexpr (std::is_same_v<Value, bool>) {
      statement->Bind(int64_t{record.*column.member});
    } else {
      statement->Bind(record.*column.member);
    }
  });
}

}  // namespace lagwatch::collector
