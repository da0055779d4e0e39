// SPDX-License-Identifier: Apache-2.0
#include "collector/query/query_string.h"

#include <algorithm>
#include <optional>

#include "base/text.h"

namespace lagwatch::collector {
namespace {

std::optional<std::string> TryDecode(std::string_view text) {
  std::string decoded;
  for (size_t at = 0; at < text.size(); ++at) {
    if (text[at] != '%') {
      decoded += text[at] == '+' ? ' ' : text[at];
      continue;
    }
    const std::string_view digits = text.substr(at + 1, 2);
    const auto byte = base::ParseNumber<unsigned char>(digits, 16);
    if (digits.size() != 2 || !byte) return std::nullopt;
    decoded += static_cast<char>(*byte);
    at += 2;
  }
  return decoded;
}

}  // namespace

Result<QueryString> QueryString::Parse(std::string_view text) {
  QueryString query;
  while (!text.empty()) {
    std::string_view value = base::TakeUntil('&', &text);
    auto name = TryDecode(base::TakeUntil('=', &value));
    auto decoded = TryDecode(value);
    if (!name || !decoded) {
      return Status(StatusCode::kInvalid, "the query has a '%' without two hexadecimal digits after it");
    }
    query.values_[*name] = *decoded;
  }
  return query;
}

std::string QueryString::Get(std::string_view name) const {
  auto found = values_.find(name);
  return found == values_.end() ? "" : found->second;
}

Result<int64_t> QueryString::GetInt(std::string_view name, int64_t fallback, int64_t first,
                                    int64_t last) const {
  std::string text = Get(name);
  if (text.empty()) return fallback;
  const auto number = base::ParseNumber<int64_t>(text);
  if (!number || *number < first || *number > last) {
    return Status(StatusCode::kInvalid, std::string(name) + " must be a number from " +
                                            std::to_string(first) + " to " + std::to_string(last));
  }
  return *number;
}

std::vector<std::string> QueryString::Names() const {
  std::vector<std::string> names;
  for (const auto& [name, value] : values_) names.push_back(name);
  return names;
}

std::string QueryString::ToText() const {
  std::string text;
  for (const auto& [name, value] : values_) {
    if (value.empty()) continue;
    if (!text.empty()) text += '&';
    text += base::EscapedForUrl(name) + '=' + base::EscapedForUrl(value);
  }
  return text;
}

}  // namespace lagwatch::collector
