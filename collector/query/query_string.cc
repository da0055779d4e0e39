// SPDX-License-Identifier: Apache-2.0
#include "collector/query/query_string.h"

#include <algorithm>
#include <charconv>
#include <cstdio>
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
    unsigned char byte = 0;
    std::string_view digits = text.substr(at + 1, 2);
    auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), byte, 16);
    if (digits.size() != 2 || end != digits.data() + 2 || error != std::errc()) return std::nullopt;
    decoded += static_cast<char>(byte);
    at += 2;
  }
  return decoded;
}

// The unreserved characters of RFC 3986 stay.
std::string Encode(std::string_view text) {
  constexpr std::string_view kUnreserved =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~";
  std::string encoded;
  for (char byte : text) {
    if (kUnreserved.find(byte) != std::string_view::npos) {
      encoded += byte;
    } else {
      char escape[4];
      std::snprintf(escape, sizeof escape, "%%%02X", static_cast<unsigned>(static_cast<unsigned char>(byte)));
      encoded += escape;
    }
  }
  return encoded;
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
  int64_t number = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size() || number < first || number > last) {
    return Status(StatusCode::kInvalid, std::string(name) + " must be a number from " +
                                            std::to_string(first) + " to " + std::to_string(last));
  }
  return number;
}

std::string QueryString::ToText() const {
  std::string text;
  for (const auto& [name, value] : values_) {
    if (value.empty()) continue;
    if (!text.empty()) text += '&';
    text += Encode(name) + '=' + Encode(value);
  }
  return text;
}

}  // namespace lagwatch::collector
