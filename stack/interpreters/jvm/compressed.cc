// SPDX-License-Identifier: Apache-2.0
#include "stack/interpreters/jvm/compressed.h"

namespace lagwatch::stack::jvm {

uint32_t CompressedReader::ReadUnsigned() {
  constexpr int kShift = 6;
  constexpr int kMostBytes = 5;
  const uint32_t low_end = 256 - (1U << kShift);  // bytes from here on are followed by another one
  uint32_t value = 0;
  for (int i = 0; i < kMostBytes; ++i) {
    const uint32_t byte = ReadByte();
    value += (byte - least_) << (kShift * i);
    if (byte < low_end) break;
  }
  return value;
}

uint32_t LineOf(std::span<const uint8_t> table, bool has_no_zero_bytes, uint32_t bci) {
  CompressedReader reader(table, has_no_zero_bytes);
  int64_t at = 0;
  int64_t line = 0;
  // Entries need not be in order: the last one at or before the bytecode counts.
  int64_t best_at = -1;
  int64_t best_line = 0;
  while (!reader.is_at_end()) {
    const uint8_t next = reader.ReadByte();
    if (next == 0) break;
    if (next == 0xff) {
      at += reader.ReadSigned();
      line += reader.ReadSigned();
    } else {
      at += next >> 3;
      line += next & 7;
    }
    if (at <= int64_t{bci} && at >= best_at) {
      best_at = at;
      best_line = line;
      if (at == int64_t{bci}) break;
    }
  }
  return best_line > 0 && best_line < UINT16_MAX ? static_cast<uint32_t>(best_line) : 0;
}

}  // namespace lagwatch::stack::jvm
