// SPDX-License-Identifier: Apache-2.0
// FNV-1a, 64 bits (http://www.isthe.com/chongo/tech/comp/fnv/): small, allocation-free, stable across
// versions, so its values may be persisted. Not for hostile keys. Context: any.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace lagwatch::base {

inline constexpr uint64_t kFnvOffsetBasis = 0xcbf29ce484222325;

constexpr uint64_t HashBytes(std::string_view bytes, uint64_t seed = kFnvOffsetBasis) {
  uint64_t hash = seed;
  for (char byte : bytes) {
    hash ^= static_cast<unsigned char>(byte);
    hash *= 0x100000001b3;
  }
  return hash;
}

constexpr uint64_t HashWord(uint64_t word, uint64_t seed) {
  uint64_t hash = seed;
  for (int shift = 0; shift < 64; shift += 8) {
    hash ^= (word >> shift) & 0xff;
    hash *= 0x100000001b3;
  }
  return hash;
}

}  // namespace lagwatch::base
