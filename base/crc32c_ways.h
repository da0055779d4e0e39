// SPDX-License-Identifier: Apache-2.0
// The implementations of Crc32c(), for crc32c.cc, which chooses one, and for the test that compares them. All
// take and return the running value: the checksum so far, every bit inverted. Context: watchdog; pure.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace lagwatch::base::crc32c_ways {

using Table = std::array<uint32_t, 256>;

constexpr Table MakeTable() {
  constexpr uint32_t kReversedPolynomial = 0x82F63B78;
  Table table{};
  for (uint32_t byte = 0; byte < 256; ++byte) {
    uint32_t value = byte;
    for (int bit = 0; bit < 8; ++bit) value = (value >> 1) ^ ((value & 1) ? kReversedPolynomial : 0);
    table[byte] = value;
  }
  return table;
}
inline constexpr Table kTable = MakeTable();

constexpr uint32_t StepByte(uint32_t running, unsigned char byte) {
  return (running >> 8) ^ kTable[(running ^ byte) & 0xff];
}

// Eight bytes a turn, with eight tables: runs everywhere.
uint32_t BySlices(const unsigned char* bytes, size_t size_bytes, uint32_t running);

// Whether this processor has the instruction. A few cycles.
bool HasInstruction();
// Only where it has.
uint32_t ByInstruction(const unsigned char* bytes, size_t size_bytes, uint32_t running);

}  // namespace lagwatch::base::crc32c_ways
