// SPDX-License-Identifier: Apache-2.0
#include "base/crc32c_interleaved.h"

namespace lagwatch::base::crc32c_ways {
namespace {

// SSE 4.2's, as assembly: so nothing else in this file is built for processors that have it.
struct Sse42 {
  static uint32_t Word(uint32_t running, uint64_t word) {
    uint64_t wide = running;
    asm("crc32q %1, %0" : "+r"(wide) : "rm"(word));
    return static_cast<uint32_t>(wide);
  }
  static uint32_t Byte(uint32_t running, unsigned char byte) {
    asm("crc32b %1, %0" : "+r"(running) : "rm"(byte));
    return running;
  }
};

}  // namespace

uint32_t ByInstruction(const unsigned char* bytes, size_t size_bytes, uint32_t running) {
  return Interleaved<Sse42>(bytes, size_bytes, running);
}

}  // namespace lagwatch::base::crc32c_ways
