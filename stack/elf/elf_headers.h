// SPDX-License-Identifier: Apache-2.0
// A loaded module's ELF headers, read from memory without trusting a byte of them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/process/process.h"

namespace lagwatch::stack {

// A part of the file that is loaded as code.
struct CodeSegment {
  uint64_t file_offset;
  uint64_t size_bytes;
  uint64_t address;  // before the load bias is added
};

struct ElfHeaders {
  static constexpr size_t kMaxCodeSegments = 4;

  uint64_t load_bias = 0;
  uint64_t end = 0;           // address after the last segment
  uint64_t eh_frame_hdr = 0;  // address, 0 when there is none
  uint64_t build_id = 0;      // address, 0 when there is none
  size_t build_id_size_bytes = 0;
  size_t code_segment_count = 0;  // of those that fit
  CodeSegment code_segments[kMaxCodeSegments];
};

// Reads the headers of the module whose ELF header is at `base` of the process; false when there is none.
// Context: watchdog.
bool ReadElfHeaders(const base::Process& process, uint64_t base, ElfHeaders* headers);

}  // namespace lagwatch::stack
