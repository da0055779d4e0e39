// SPDX-License-Identifier: Apache-2.0
// A report's cause as one number, which the program's side can compute without symbols: so reports that are
// not sent can still be counted by cause, and joined to the collector's clusters.
//
// The key is FNV-1a (base/hash.h) over the innermost 2 frames of the expensive stack: of each the length of
// its module's build id as 8 bytes (little-endian), the build id's bytes, and the function's offset in the
// module as 8 bytes. Frames of the C library at the innermost end are skipped, unless there is nothing else.
// A key of 0 becomes 1; a stack without frames has the key 0, "not known". Context: background; pure.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace lagwatch::policies {

// The module that frames of code made at run time belong to. It has no build id, and its offsets are
// addresses, which differ in each run: no key and no name contains them.
inline constexpr std::string_view kGeneratedCodeModule = "[jit]";

struct CauseFrame {
  std::string_view module_path;  // empty, or kGeneratedCodeModule, when the address is in no module
  std::string_view build_id;     // raw bytes; where it is empty, the file's name stands for it
  uint64_t function_offset = 0;  // where the function is not known, the frame's own
};

// Part of the wire format: the same frames have the same key in every version. `frames` are innermost first.
uint64_t CauseKey(std::span<const CauseFrame> frames);

// Whether that file is the C library or the loader, by its name: libc, libpthread, ld-linux,
// ld-musl, the vDSO.
bool IsCLibrary(std::string_view module_path);

}  // namespace lagwatch::policies
