// SPDX-License-Identifier: Apache-2.0
// Texts of scripts as UTF-8. Context: any.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace lagwatch::stack {

// Appends a code point, unless it does not fit. Control characters become question marks.
inline void AppendUtf8(uint32_t point, char* text, size_t size_bytes, size_t* size) {
  char bytes[4];
  size_t count = 0;
  if (point < 0x80) {
    bytes[count++] = static_cast<char>(point < 0x20 ? '?' : point);
  } else if (point < 0x800) {
    bytes[count++] = static_cast<char>(0xc0 | point >> 6);
    bytes[count++] = static_cast<char>(0x80 | (point & 0x3f));
  } else if (point < 0x10000) {
    bytes[count++] = static_cast<char>(0xe0 | point >> 12);
    bytes[count++] = static_cast<char>(0x80 | (point >> 6 & 0x3f));
    bytes[count++] = static_cast<char>(0x80 | (point & 0x3f));
  } else {
    bytes[count++] = static_cast<char>(0xf0 | (point >> 18 & 7));
    bytes[count++] = static_cast<char>(0x80 | (point >> 12 & 0x3f));
    bytes[count++] = static_cast<char>(0x80 | (point >> 6 & 0x3f));
    bytes[count++] = static_cast<char>(0x80 | (point & 0x3f));
  }
  if (*size + count > size_bytes) return;
  std::copy_n(bytes, count, text + *size);
  *size += count;
}

}  // namespace lagwatch::stack
