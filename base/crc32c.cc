// SPDX-License-Identifier: Apache-2.0
#include "base/crc32c.h"

#include <bit>
#include <cstring>

#include "base/crc32c_ways.h"

namespace lagwatch::base {
namespace crc32c_ways {
namespace {

constexpr size_t kSlices = 8;
static_assert(std::endian::native == std::endian::little, "words are read as they lie in memory");

// Table k: what a byte does to the checksum that has k more bytes to go.
constexpr std::array<Table, kSlices> MakeSlices() {
  std::array<Table, kSlices> slices{kTable};
  for (size_t k = 1; k < kSlices; ++k) {
    for (size_t byte = 0; byte < 256; ++byte) slices[k][byte] = StepByte(slices[k - 1][byte], 0);
  }
  return slices;
}
constexpr std::array<Table, kSlices> kSliceTables = MakeSlices();

}  // namespace

uint32_t BySlices(const unsigned char* bytes, size_t size_bytes, uint32_t running) {
  for (; size_bytes >= kSlices; bytes += kSlices, size_bytes -= kSlices) {
    uint64_t word;
    std::memcpy(&word, bytes, sizeof word);
    word ^= running;
    running = 0;
    for (size_t i = 0; i < kSlices; ++i) running ^= kSliceTables[kSlices - 1 - i][(word >> 8 * i) & 0xff];
  }
  for (size_t i = 0; i < size_bytes; ++i) running = StepByte(running, bytes[i]);
  return running;
}

}  // namespace crc32c_ways

uint32_t Crc32c(const void* data, size_t size_bytes, uint32_t seed) {
  const auto* bytes = static_cast<const unsigned char*>(data);
  return crc32c_ways::HasInstruction() ? ~crc32c_ways::ByInstruction(bytes, size_bytes, ~seed)
                                       : ~crc32c_ways::BySlices(bytes, size_bytes, ~seed);
}

}  // namespace lagwatch::base
