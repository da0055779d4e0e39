// SPDX-License-Identifier: Apache-2.0
#include "collector/store/clickhouse/insert/batch_rows.h"

#include <algorithm>
#include <string>

#include "collector/store/clickhouse/server/row_binary.h"

namespace lagwatch::collector {
namespace {

constexpr size_t kDaySize = 2;

// The first part of `*text` before `separator`, which goes with it.
std::string_view TakeUpTo(std::string_view separator, std::string_view* text) {
  const size_t end = text->find(separator);
  const std::string_view part = text->substr(0, end);
  text->remove_prefix(end == std::string_view::npos ? text->size() : end + separator.size());
  return part;
}

// A kind of Row::Take, or `t` for a Date.
char KindOf(std::string_view type) {
  return type == "Date" ? 't' : type == "String" ? 's' : type.starts_with("Fixed") ? 'u' : 'i';
}

// Of a table's columns.
std::string KindsOf(const Table& table) {
  std::string kinds;
  for (std::string_view columns = table.columns; !columns.empty();) {
    std::string_view column = TakeUpTo(", ", &columns);
    TakeUpTo(" ", &column);
    kinds += KindOf(column);
  }
  return kinds;
}

// Nothing when `*bytes` does not begin with a whole column.
std::optional<std::string_view> TakeField(char kind, std::string_view* bytes) {
  Row column;
  if (kind != 't') return column.Take({&kind, 1}, bytes) ? std::optional(column.Bytes(0)) : std::nullopt;
  if (bytes->size() < kDaySize) return std::nullopt;
  const std::string_view day = bytes->substr(0, kDaySize);
  bytes->remove_prefix(kDaySize);
  return day;
}

// False when `*bytes` does not begin with a whole row.
bool SkipRow(std::string_view kinds, std::string_view* bytes) {
  return std::ranges::all_of(kinds, [&](char kind) { return TakeField(kind, bytes).has_value(); });
}

}  // namespace

const Table* TableOf(std::string_view target) {
  for (const Table& table : kTables) {
    const std::string name = "`." + std::string(table.name);
    if (target.find(name + " (") != std::string_view::npos ||
        target.find(name + "_all (") != std::string_view::npos)
      return &table;
  }
  return nullptr;
}

std::vector<std::string_view> RowsOf(const Batch::Part& part) {
  const Table* table = TableOf(part.target);
  if (table == nullptr) return {};
  const std::string kinds = KindsOf(*table);
  std::vector<std::string_view> rows;
  for (std::string_view rest = part.rows; !rest.empty();) {
    const std::string_view before = rest;
    if (!SkipRow(kinds, &rest)) return {};
    rows.push_back(before.substr(0, before.size() - rest.size()));
  }
  return rows;
}

bool IsOfMarks(const Batch::Part& part) {
  const Table* table = TableOf(part.target);
  return table != nullptr && table->name == kMarks.name;
}

bool IsOfSenders(const Batch::Part& part) {
  const Table* table = TableOf(part.target);
  return table != nullptr && table->name == kRecordSenders.name;
}

std::optional<std::string_view> FieldOf(const Table& table, std::string_view row, std::string_view column) {
  for (std::string_view columns = table.columns; !columns.empty();) {
    std::string_view type = TakeUpTo(", ", &columns);
    const std::string_view name = TakeUpTo(" ", &type);
    const auto field = TakeField(KindOf(type), &row);
    if (!field || name == column) return field;
  }
  return std::nullopt;
}

int64_t DayOfRow(const Table& table, std::string_view row) {
  const std::string_view day = FieldOf(table, row, "day").value_or(std::string_view("\0\0", kDaySize));
  return static_cast<uint8_t>(day[0]) | static_cast<uint8_t>(day[1]) << 8;
}

void RenewMarks(Batch* batch, Versions* versions) {
  std::optional<int64_t> number;
  for (Batch::Part& part : batch->parts) {
    if (!IsOfMarks(part)) continue;
    if (!number) number = versions->NextBatch();
    RowWriter rows;
    for (std::string_view row : RowsOf(part)) {
      // The day and the unit stay.
      rows.Bytes(row.substr(0, kDaySize + sizeof(int64_t)));
      rows.Int(versions->collector());
      rows.Int(*number);
      rows.Int(*number);
    }
    part.rows = rows.bytes();
  }
}

}  // namespace lagwatch::collector
