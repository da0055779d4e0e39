// SPDX-License-Identifier: Apache-2.0
// Describes a column of a kind of record, once for both stores and for the API. A tuple of columns is the
// table of a kind of record (report_row.h, trace_row.h). Context: any; pure.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string_view>
#include <tuple>
#include <type_traits>

namespace lagwatch::collector {

// Numbers from clients, cut to int64_t.
inline int64_t ToSigned(uint64_t number) {
  return static_cast<int64_t>(std::min<uint64_t>(number, INT64_MAX));
}

// The source of a column that the store computes.
struct NoSource {};

enum class ColumnPlace {
  kTable,     // in the table of its records; a new column needs the next version of ClickHouse's table
  kSegments,  // SQLite: of the segments
  kLevel1,    // SQLite: of the clusters, as the next one
  kLevel2,
  kAccount,  // of SQLite's table; ClickHouse's reader computes it (hang_reader.h)
};

enum class JsonForm {
  kNone,  // not in JSON
  kValue,
  kMs,          // of a number of nanoseconds
  kNullIfZero,  // of a number
  kCauseKey,
};

struct JsonField {
  std::string_view key = {};
  JsonForm form = JsonForm::kNone;
  std::string_view group = {};  // the object that has it; empty: the record itself
};

template <typename Record, typename Value, typename Source>
struct Column {
  using ValueType = Value;

  // `source` is a member of the decoded record, or a function of it.
  constexpr Column(std::string_view column_name, Value Record::*column_member, Source column_source,
                   JsonField json_field = {}, ColumnPlace column_place = ColumnPlace::kTable)
      : name(column_name),
        member(column_member),
        source(column_source),
        json(json_field),
        place(column_place) {}

  std::string_view name;
  Value Record::*member;
  Source source;
  JsonField json;
  ColumnPlace place;
};

template <typename Columns>
inline constexpr size_t kColumnCount = std::tuple_size_v<std::remove_cvref_t<Columns>>;

// Calls `visit` for each column, in order.
template <typename Columns, typename Visit>
constexpr void ForEachColumn(const Columns& columns, Visit&& visit) {
  std::apply([&](const auto&... column) { (visit(column), ...); }, columns);
}

// Sets the columns that have a source from a decoded record.
template <typename Columns, typename Decoded, typename Record>
void SetColumns(const Columns& columns, const Decoded& decoded, Record* record) {
  ForEachColumn(columns, [&](const auto& column) {
    if constexpr (!std::is_same_v<decltype(column.source), NoSource>) {
      using Value = typename std::remove_cvref_t<decltype(column)>::ValueType;
      record->*column.member = static_cast<Value>(std::invoke(column.source, decoded));
    }
  });
}

// A text made at compile time: `kBuild` is called with a function that appends a part.
template <auto kBuild>
class ConstText {
 public:
  static constexpr std::string_view view() { return {kChars.data(), kSize}; }

 private:
  static constexpr size_t Size() {
    size_t size = 0;
    kBuild([&](std::string_view part) { size += part.size(); });
    return size;
  }
  static constexpr size_t kSize = Size();
  static constexpr auto Chars() {
    std::array<char, kSize + 1> chars{};
    size_t size = 0;
    kBuild([&](std::string_view part) {
      for (char c : part) chars[size++] = c;
    });
    return chars;
  }
  static constexpr auto kChars = Chars();
};

}  // namespace lagwatch::collector
