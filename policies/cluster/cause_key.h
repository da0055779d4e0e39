// SPDX-License-Identifier: Apache-2.0
// A report's cause as one number, which the program's side can compute without symbols: so reports that are
// not sent can still be counted by cause, and joined to the collector's clusters.
//
// The key is FNV-1a (base/hash.h) over the innermost 2 frames of the expensive stack: of each the length of
// its module's build id as 8 bytes (little-endian), the build id's bytes, and the function's offset in the
// module as 8 bytes. Frames of the C library at the innermost end are skipped, unless there is nothing else.
// A key of 0 becomes 1; a stack without frames has the key 0, "not known". Context: background; pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/hash.h"

namespace lagwatch::policies {

// The module that frames of code made at run time belong to. It has no build id, and its offsets are
// addresses, which differ in each run: no key and no name contains them.
inline constexpr std::string_view kGeneratedCodeModule = "[jit]";

// Whether a module stands for the scripts or the managed code of a language, as "[java]" does: a frame's
// offset is then its function's number plus the line in its file (plus 0: not known). Other names in brackets
// are those of the kernel's mappings.
bool IsLanguageModule(std::string_view module_path);

// Computes the key of a stack. Part of the wire format: the same frames have the same key in every version.
class CauseKey {
 public:
  // Adds the next frame, from the innermost one on. `module_path` is empty, or kGeneratedCodeModule, when the
  // address is in no module; where `build_id` (raw bytes) is empty, the file's name stands for it. Where the
  // function is not known, its offset is the frame's own.
  void Add(std::string_view module_path, std::string_view build_id, uint64_t function_offset);
  void AddOutsideModules() { Add({}, {}, 0); }
  // Whether further frames cannot change the key.
  bool is_complete() const { return significant_.count == kFrames; }
  uint64_t value() const;

 private:
  static constexpr size_t kFrames = 2;

  // The innermost frames of some.
  struct Innermost {
    size_t count = 0;
    uint64_t hash = base::kFnvOffsetBasis;

    void Add(std::string_view module_path, std::string_view build_id, uint64_t function_offset);
  };
  Innermost all_;
  Innermost significant_;  // from the first on that is not of the C library
};

// Whether that file is the C library or the loader, by its name: libc, libpthread, ld-linux,
// ld-musl, the vDSO.
bool IsCLibrary(std::string_view module_path);

}  // namespace lagwatch::policies
