// SPDX-License-Identifier: Apache-2.0
// Numbers in Protocol Buffers' variable-length encoding, for sketches on disk and the sizes of texts in
// RowBinary. Context: background; pure.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace lagwatch::collector {

inline void AppendVarint(uint64_t number, std::string* bytes) {
  for (; number >= 0x80; number >>= 7) bytes->push_back(static_cast<char>(number | 0x80));
  bytes->push_back(static_cast<char>(number));
}

// Takes a number off the front; false when there is none.
inline bool TakeVarint(std::string_view* bytes, uint64_t* number) {
  *number = 0;
  for (int shift = 0; shift < 64 && !bytes->empty(); shift += 7) {
    const auto byte = static_cast<unsigned char>(bytes->front());
    bytes->remove_prefix(1);
    *number |= uint64_t{byte & 0x7fu} << shift;
    if (byte < 0x80) return true;
  }
  return false;
}

// Small negative numbers as small ones.
inline uint64_t ZigZag(int64_t number) {
  return (static_cast<uint64_t>(number) << 1) ^ static_cast<uint64_t>(number >> 63);
}
inline int64_t UnZigZag(uint64_t number) {
  return static_cast<int64_t>(number >> 1) ^ -static_cast<int64_t>(number & 1);
}

}  // namespace lagwatch::collector
