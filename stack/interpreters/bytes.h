// SPDX-License-Identifier: Apache-2.0
// Members of structures that were read as bytes, and texts that were. Context: any; pure.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

namespace lagwatch::stack {

// The member at `offset`; 0 where `bytes` end before.
template <typename T>
T MemberAt(std::span<const uint8_t> bytes, size_t offset) {
  T value{};
  if (offset <= bytes.size() && bytes.size() - offset >= sizeof value)
    std::memcpy(&value, &bytes[offset], sizeof value);
  return value;
}

// Replaces control characters except `kept`, and bytes that are not UTF-8, by question marks.
inline void CleanText(std::span<char> text, char kept = '\0') {
  const auto byte_at = [&](size_t i) { return i < text.size() ? static_cast<uint8_t>(text[i]) : 0; };
  for (size_t i = 0; i < text.size();) {
    const uint8_t first = byte_at(i);
    size_t size = 1;
    bool is_valid = (first >= 0x20 && first < 0x7f) || (kept != '\0' && text[i] == kept);
    if (first >= 0xc2 && first < 0xf5) {
      size = first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
      const uint8_t second = byte_at(i + 1);
      is_valid = !(first == 0xe0 && second < 0xa0) && !(first == 0xed && second >= 0xa0) &&
                 !(first == 0xf0 && second < 0x90) && !(first == 0xf4 && second >= 0x90);
      for (size_t next = 1; next < size; ++next) is_valid = is_valid && (byte_at(i + next) & 0xc0) == 0x80;
    }
    if (!is_valid) {
      text[i++] = '?';
      continue;
    }
    i += size;
  }
}

}  // namespace lagwatch::stack
