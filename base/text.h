// SPDX-License-Identifier: Apache-2.0
// Small text operations. Context: any for those that do not allocate.
#pragma once

#include <charconv>
#include <cstdint>
#include <ctime>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

namespace lagwatch::base {

inline constexpr std::string_view kHexDigits = "0123456789abcdef";

// Two digits a byte, lower case.
inline std::string ToHex(std::span<const unsigned char> bytes) {
  std::string hex;
  hex.reserve(2 * bytes.size());
  for (const unsigned char byte : bytes) hex.append({kHexDigits[byte >> 4], kHexDigits[byte & 15]});
  return hex;
}
inline std::string ToHex(std::string_view bytes) {
  return ToHex(std::span(reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size()));
}
// 16 digits.
inline std::string ToHex(uint64_t number) {
  std::string hex;
  for (int shift = 60; shift >= 0; shift -= 4) hex += kHexDigits[number >> shift & 15];
  return hex;
}

// The bytes of digits of either case; nothing when the text is something else.
inline std::optional<std::string> FromHex(std::string_view hex) {
  const auto value_of = [](char digit) {
    return kHexDigits.find(digit >= 'A' && digit <= 'F' ? static_cast<char>(digit - 'A' + 'a') : digit);
  };
  std::string bytes;
  for (size_t i = 0; i < hex.size(); i += 2) {
    const size_t low = i + 1 < hex.size() ? value_of(hex[i + 1]) : std::string_view::npos;
    if (value_of(hex[i]) == std::string_view::npos || low == std::string_view::npos) return std::nullopt;
    bytes += static_cast<char>(value_of(hex[i]) << 4 | low);
  }
  return bytes;
}

// Takes the text before `separator`, and the separator, off the front of `text`; all of it without one.
inline std::string_view TakeUntil(char separator, std::string_view* text) {
  const size_t end = text->find(separator);
  const std::string_view taken = text->substr(0, end);
  text->remove_prefix(end == std::string_view::npos ? text->size() : end + 1);
  return taken;
}

// The parts of a list that commas separate, without empty ones.
inline std::vector<std::string> SplitAtCommas(std::string_view list) {
  std::vector<std::string> parts;
  while (!list.empty()) {
    if (const std::string_view part = TakeUntil(',', &list); !part.empty()) parts.emplace_back(part);
  }
  return parts;
}

// As one part of a URL's path or query: all but the unreserved characters of RFC 3986 as %XX.
inline std::string EscapedForUrl(std::string_view text) {
  constexpr std::string_view kUnreserved =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~";
  constexpr std::string_view kDigits = "0123456789ABCDEF";
  std::string escaped;
  for (const char byte : text) {
    const auto code = static_cast<unsigned char>(byte);
    if (kUnreserved.find(byte) != std::string_view::npos) {
      escaped += byte;
    } else {
      escaped.append({'%', kDigits[code >> 4], kDigits[code & 15]});
    }
  }
  return escaped;
}

// `text` without blanks and line ends around it.
inline std::string_view Trimmed(std::string_view text) {
  constexpr std::string_view kBlanks = " \t\r\n";
  const size_t first = text.find_first_not_of(kBlanks);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kBlanks) - first + 1);
}

// The number that `text` is; none if it is anything else, or too large.
template <typename Number>
std::optional<Number> ParseNumber(std::string_view text, int radix = 10) {
  Number number = 0;
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, number, radix);
  return error == std::errc() && rest == end ? std::optional(number) : std::nullopt;
}

// A time in UTC, as strftime(3) writes `format`; "?" if that is impossible.
inline std::string UtcText(int64_t wall_ms, const char* format) {
  const std::time_t seconds = wall_ms / 1'000;
  std::tm utc{};
  char text[64];
  const bool is_written =
      gmtime_r(&seconds, &utc) != nullptr && std::strftime(text, sizeof text, format, &utc) != 0;
  return is_written ? text : "?";
}

}  // namespace lagwatch::base
