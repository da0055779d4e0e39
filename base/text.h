// SPDX-License-Identifier: Apache-2.0
// Small text operations. Context: any for those that do not allocate.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
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

// The parts of a list that commas separate, without empty ones.
inline std::vector<std::string> SplitAtCommas(std::string_view list) {
  std::vector<std::string> parts;
  while (!list.empty()) {
    const std::string_view part = list.substr(0, list.find(','));
    if (!part.empty()) parts.emplace_back(part);
    list.remove_prefix(std::min(part.size() + 1, list.size()));
  }
  return parts;
}

// `text` without blanks and line ends around it.
inline std::string_view Trimmed(std::string_view text) {
  constexpr std::string_view kBlanks = " \t\r\n";
  const size_t first = text.find_first_not_of(kBlanks);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kBlanks) - first + 1);
}

}  // namespace lagwatch::base
