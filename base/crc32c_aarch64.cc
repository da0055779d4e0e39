// SPDX-License-Identifier: Apache-2.0
#include "base/crc32c_interleaved.h"

namespace lagwatch::base::crc32c_ways {
namespace {

// The CRC extension's, as assembly: so nothing else in this file is built for processors that have it.
struct CrcExtension {
  static uint32_t Word(uint32_t running, uint64_t word) {
    asm(".arch_extension crc\n\tcrc32cx %w0, %w0, %x1" : "+r"(running) : "r"(word));
    return running;
  }
  static uint32_t Byte(uint32_t running, unsigned char byte) {
    asm(".arch_extension crc\n\tcrc32cb %w0, %w0, %w1" : "+r"(running) : "r"(byte));
    return running;
  }
};

}  // namespace

uint32_t ByInstruction(const unsigned char* bytes, size_t size_bytes, uint32_t running) {
  return Interleaved<CrcExtension>(bytes, size_bytes, running);
}

}  // namespace lagwatch::base::crc32c_ways
