// SPDX-License-Identifier: Apache-2.0
// Writes a part of a report as JSON by its table of fields (report/format/field_tables.h).
// Context: background; pure.
#pragma once

#include <concepts>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "base/uuid.h"
#include "collector/query/json/json_text.h"
#include "report/format/field_tables.h"

namespace lagwatch::collector {

inline std::string_view WordOf(policies::HangKind kind) { return policies::HangKindName(kind); }
inline std::string_view WordOf(policies::HangLevel level) { return policies::HangLevelName(level); }
inline std::string_view WordOf(policies::LockKind kind) { return policies::LockKindName(kind); }
inline std::string_view WordOf(policies::WaitsFor waits_for) { return policies::WaitsForName(waits_for); }
inline std::string_view WordOf(policies::VerdictWord word) { return policies::VerdictName(word); }

template <typename Value>
concept HasWord = requires(Value value) {
  WordOf(value);
};
template <typename Value>
concept HasJson = std::integral<Value> || HasWord<Value> || report::HasFields<Value> ||
    std::same_as<Value, std::string> || std::same_as<Value, base::Uuid>;

// Adds the fields of `part` that are not among the members of `json` already.
template <typename Table, typename Part>
void AddFields(const Table& table, const Part& part, Json* json);

template <HasJson Value>
Json FieldJson(const report::Field& field, const Value& value) {
  if constexpr (report::HasFields<Value>) {
    Json json = Json::object();
    AddFields(report::MessageOf<Value>::kTable, value, &json);
    return json;
  } else if constexpr (std::is_same_v<Value, char>) {
    return std::string(1, value);
  } else if constexpr (std::is_same_v<Value, base::Uuid>) {
    return base::ToString(value);
  } else if constexpr (HasWord<Value>) {
    return WordOf(value);
  } else if constexpr (std::integral<Value> && !std::is_same_v<Value, bool>) {
    return field.name.ends_with("_ns") ? Json(ToMs(static_cast<double>(value))) : Json(value);
  } else {
    return value;
  }
}
template <typename Value>
Json FieldJson(const report::Field& field, report::Always<Value> value) {
  return FieldJson(field, value.number);
}
template <typename Value>
Json FieldJson(const report::Field& field, report::Signed<Value> value) {
  return FieldJson(field, value.number);
}
// None is null.
template <typename Value>
Json FieldJson(const report::Field& field, report::PlusOne<Value> value) {
  return value.number == static_cast<std::remove_const_t<Value>>(-1) ? Json()
                                                                     : FieldJson(field, value.number);
}
template <report::HasFields Part>
Json FieldJson(const report::Field& field, const std::vector<Part>& parts) {
  Json json = Json::array();
  for (const Part& part : parts) json.push_back(FieldJson(field, part));
  return json;
}

template <typename Table, typename Part>
void AddFields(const Table& table, const Part& part, Json* json) {
  table(part, [json](const report::Field& field, const auto& value) {
    if (field.json == report::kByHand) return false;
    if constexpr (requires { FieldJson(field, value); }) {
      std::string_view key = field.json.empty() ? field.name : field.json;
      Json added = FieldJson(field, value);
      if (key.ends_with('?')) {
        key.remove_suffix(1);
        if (added == 0 || added == "") return false;
      }
      const size_t dot = key.find('.');
      const std::string group(dot == std::string_view::npos ? "" : key.substr(0, dot));
      if (json->contains(group) && (*json)[group].is_null()) return false;
      Json& object = group.empty() ? *json : (*json)[group];
      std::string name(key.substr(dot + 1));
      if (name.ends_with("_ns")) name.replace(name.size() - 2, 2, "ms");
      if (!object.contains(name)) object[std::move(name)] = std::move(added);
    }
    return false;
  });
}

}  // namespace lagwatch::collector
