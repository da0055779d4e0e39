// SPDX-License-Identifier: Apache-2.0
// Writes a record as JSON by its table of columns (store/rows/column.h). Context: background; pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <type_traits>

#include "base/uuid.h"
#include "collector/query/json/json_text.h"
#include "collector/store/rows/column.h"

namespace lagwatch::collector {

template <typename Value>
Json ColumnJson(const Value& value, JsonForm form) {
  if (form == JsonForm::kNullIfZero && value == Value{}) return {};
  if constexpr (std::is_same_v<Value, int64_t>) {
    if (form == JsonForm::kMs) return ToMs(static_cast<double>(value));
    if (form == JsonForm::kCauseKey) return CauseKeyJson(value);
  }
  if constexpr (std::is_same_v<Value, base::Uuid>) {
    return base::ToString(value);
  } else if constexpr (std::is_same_v<Value, std::optional<int64_t>>) {
    return value ? ColumnJson(*value, form) : Json();
  } else {
    return value;
  }
}

// An object of the columns that have a key.
template <typename Record, typename Columns>
Json ColumnsJson(const Record& record, const Columns& columns) {
  Json json = Json::object();
  ForEachColumn(columns, [&](const auto& column) {
    const JsonField& field = column.json;
    if (field.form == JsonForm::kNone) return;
    Json& object = field.group.empty() ? json : json[std::string(field.group)];
    object[std::string(field.key)] = ColumnJson(record.*column.member, field.form);
  });
  return json;
}

}  // namespace lagwatch::collector
