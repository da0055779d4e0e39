// SPDX-License-Identifier: Apache-2.0
// CRC-32C by an instruction that takes a word in one cycle and gives its result after three: three blocks
// side by side keep it busy. For crc32c_x86_64.cc and crc32c_aarch64.cc.
// Context: watchdog; pure.
#pragma once

#include <cstring>

#include "base/crc32c_ways.h"

namespace lagwatch::base::crc32c_ways {

inline constexpr size_t kBlockBytes = 512;
inline constexpr size_t kLanes = 3;

// Table k: what byte k of a running value becomes when kBlockBytes zero bytes follow. That is linear, so the
// parts of a value are looked up one by one and added.
constexpr std::array<Table, 4> MakeBlockShift() {
  std::array<uint32_t, 32> of_bit{};
  for (size_t bit = 0; bit < 32; ++bit) {
    of_bit[bit] = uint32_t{1} << bit;
    for (size_t i = 0; i < kBlockBytes; ++i) of_bit[bit] = StepByte(of_bit[bit], 0);
  }
  std::array<Table, 4> shift{};
  for (size_t k = 0; k < 4; ++k) {
    for (size_t byte = 0; byte < 256; ++byte) {
      for (size_t bit = 0; bit < 8; ++bit) shift[k][byte] ^= (byte >> bit & 1) != 0 ? of_bit[8 * k + bit] : 0;
    }
  }
  return shift;
}
inline constexpr std::array<Table, 4> kBlockShift = MakeBlockShift();

inline uint32_t ShiftByABlock(uint32_t running) {
  return kBlockShift[0][running & 0xff] ^ kBlockShift[1][running >> 8 & 0xff] ^
         kBlockShift[2][running >> 16 & 0xff] ^ kBlockShift[3][running >> 24];
}

// `Step` has the instruction for a word of 8 bytes and for a byte.
template <typename Step>
uint32_t Interleaved(const unsigned char* bytes, size_t size_bytes, uint32_t running) {
  auto word_at = [](const unsigned char* place) {
    uint64_t word;
    std::memcpy(&word, place, sizeof word);
    return word;
  };
  for (; size_bytes >= kLanes * kBlockBytes;
       bytes += kLanes * kBlockBytes, size_bytes -= kLanes * kBlockBytes) {
    uint32_t second = 0;
    uint32_t third = 0;
    for (size_t at = 0; at < kBlockBytes; at += sizeof(uint64_t)) {
      running = Step::Word(running, word_at(bytes + at));
      second = Step::Word(second, word_at(bytes + kBlockBytes + at));
      third = Step::Word(third, word_at(bytes + 2 * kBlockBytes + at));
    }
    running = ShiftByABlock(ShiftByABlock(running) ^ second) ^ third;
  }
  for (; size_bytes >= sizeof(uint64_t); bytes += sizeof(uint64_t), size_bytes -= sizeof(uint64_t))
    running = Step::Word(running, word_at(bytes));
  for (size_t i = 0; i < size_bytes; ++i) running = Step::Byte(running, bytes[i]);
  return running;
}

}  // namespace lagwatch::base::crc32c_ways
