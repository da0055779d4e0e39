// SPDX-License-Identifier: Apache-2.0
// A loaded Mach-O image's headers, read from memory without trusting a byte of them. Has its own constants,
// so that it is built and tested on every system.
#pragma once

#include <cstddef>
#include <cstdint>

#include "stack/elf/elf_headers.h"

namespace lagwatch::stack {

struct MachoHeaders {
  static constexpr size_t kUuidBytes = 16;

  uint64_t load_bias = 0;  // the slide: address = load_bias + address in the symbol table
  uint64_t end = 0;        // address after the last code segment
  bool has_uuid = false;
  unsigned char uuid[kUuidBytes] = {};
  size_t code_segment_count = 0;  // of those that fit
  CodeSegment code_segments[ElfHeaders::kMaxCodeSegments];
};

// Reads the headers of the 64-bit image whose Mach-O header is at `base`; false when there is none.
// Context: watchdog.
bool ReadMachoHeaders(uint64_t base, MachoHeaders* headers);

}  // namespace lagwatch::stack
