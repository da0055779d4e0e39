// SPDX-License-Identifier: Apache-2.0
// Writes and reads the columns of a table of columns (store/rows/column.h) in ClickHouse. Context:
// background.
#pragma once

#include <cstdint>
#include <string>
#include <type_traits>

#include "base/uuid.h"
#include "collector/store/clickhouse/server/row_binary.h"
#include "collector/store/rows/column.h"

#define LAGWATCH_ID "FixedString(16)"

namespace lagwatch::collector {

template <typename Value>
void AddValue(const Value& value, RowWriter* rows) {
  if constexpr (std::is_integral_v<Value>) {
    rows->Int(static_cast<int64_t>(value));
  } else if constexpr (std::is_same_v<Value, base::Uuid>) {
    rows->Id(value);
  } else {
    rows->Text(value);
  }
}

inline void ReadValue(const Row& row, size_t column, int64_t* value) { *value = row.Int(column); }
inline void ReadValue(const Row& row, size_t column, bool* value) { *value = row.Int(column) != 0; }
inline void ReadValue(const Row& row, size_t column, std::string* value) { *value = row.Text(column); }
inline void ReadValue(const Row& row, size_t column, base::Uuid* value) { *value = row.Id(column); }

// Calls `visit` for each column that ClickHouse's table has.
template <typename Columns, typename Visit>
constexpr void ForEachStored(const Columns& columns, Visit visit) {
  ForEachColumn(columns, [&](const auto& column) {
    using Value = typename std::remove_cvref_t<decltype(column)>::ValueType;
    constexpr bool can_be_stored =
        std::is_integral_v<Value> || std::is_same_v<Value, std::string> || std::is_same_v<Value, base::Uuid>;
    if constexpr (can_be_stored) {
      if (column.place != ColumnPlace::kAccount) visit(column, static_cast<Value*>(nullptr));
    }
  });
}

// For CREATE TABLE: the names with their types.
template <typename Columns, typename Add>
constexpr void AddTypedColumns(const Columns& columns, Add add) {
  bool is_first = true;
  ForEachStored(columns, [&]<typename Value>(const auto& column, Value*) {
    if (!is_first) add(", ");
    is_first = false;
    add(column.name);
    add(std::is_same_v<Value, base::Uuid> ? " " LAGWATCH_ID
        : std::is_integral_v<Value>       ? " Int64"
                                          : " String");
  });
}

// For SELECT, with the letters of Row::Take for them.
template <typename Columns>
std::string ColumnNames(const Columns& columns) {
  std::string names;
  ForEachStored(columns, [&](const auto& column, auto*) {
    names.append(names.empty() ? "" : ", ").append(column.name);
  });
  return names;
}
template <typename Columns>
std::string ColumnKinds(const Columns& columns) {
  std::string kinds;
  ForEachStored(columns, [&]<typename Value>(const auto&, Value*) {
    kinds += std::is_same_v<Value, base::Uuid> ? 'u' : std::is_integral_v<Value> ? 'i' : 's';
  });
  return kinds;
}

// Reads what ColumnNames() names, from the first column on.
template <typename Record, typename Columns>
Record ReadRecord(const Row& row, const Columns& columns) {
  Record record;
  size_t index = 0;
  ForEachStored(columns,
                [&](const auto& column, auto*) { ReadValue(row, index++, &(record.*column.member)); });
  return record;
}

template <typename Record, typename Columns>
void AddRecord(const Record& record, const Columns& columns, RowWriter* rows) {
  ForEachStored(columns, [&](const auto& column, auto*) { AddValue(record.*column.member, rows); });
}

}  // namespace lagwatch::collector
