// SPDX-License-Identifier: Apache-2.0
#include "collector/sentry/json_fields.h"

#include "base/text.h"

namespace lagwatch::collector {
namespace {

using nlohmann::json;

std::string Cut(const std::string& text) {
  if (text.size() <= kMaxFieldBytes) return text;
  size_t size = kMaxFieldBytes;
  while (size > 0 && (static_cast<unsigned char>(text[size]) & 0xc0) == 0x80) --size;
  return text.substr(0, size);
}

}  // namespace

const json& Child(const json& object, const char* name) {
  static const json kNull;
  if (!object.is_object()) return kNull;
  const auto found = object.find(name);
  return found == object.end() ? kNull : *found;
}

std::string TextOf(const json& object, const char* name) {
  const json& child = Child(object, name);
  return child.is_string() ? Cut(child.get_ref<const std::string&>()) : "";
}

std::optional<uint64_t> NumberOf(const json& object, const char* name) {
  const json& child = Child(object, name);
  if (child.is_number_unsigned()) return child.get<uint64_t>();
  if (child.is_string()) return base::ParseNumber<uint64_t>(child.get_ref<const std::string&>());
  return std::nullopt;
}

std::optional<uint64_t> AddressOf(const json& object, const char* name) {
  const json& child = Child(object, name);
  if (child.is_number_unsigned()) return child.get<uint64_t>();
  if (!child.is_string()) return std::nullopt;
  const std::string_view text = child.get_ref<const std::string&>();
  return text.starts_with("0x") ? base::ParseNumber<uint64_t>(text.substr(2), 16) : std::nullopt;
}

bool IsTrue(const json& object, const char* name) {
  const json& child = Child(object, name);
  return child.is_boolean() && child.get<bool>();
}

const json& ValuesOf(const json& object, const char* name) {
  static const json kNone = json::array();
  const json& list = Child(object, name);
  if (list.is_array()) return list;
  const json& values = Child(list, "values");
  return values.is_array() ? values : kNone;
}

}  // namespace lagwatch::collector
